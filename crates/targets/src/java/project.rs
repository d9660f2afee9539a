//! Packaging. Projects: what is printed for networks, with a Maven description, a Makefile for those without it, a test and a
//! README.

use super::network::METHOD_BYTES;
use super::runtime::{OF_KNOWN_ANSWERS, OF_NETWORKS, OF_OPERATIONS, OF_RECORDINGS};
use super::shape::{class_name, operation, package};
use super::{answers, network, provider};
use crate::braces::free_of_records;
use crate::lowered::{lowered, lowered_operation};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_lowering::{Lanes, Options as Lowering};
use headrace_source::Diagnostic;

/// HotSpot puts short loops over many lanes into vectors.
const LANES: Lanes = Lanes { count: 64, longest: Some(24) };

/// HotSpot compiles no method of more than 8000 bytes, and those of few thousand badly.
const MOST_VALUES: usize = 1500;

/// How operations are lowered.
const LOWERING: Lowering = Lowering { most_values: Some(MOST_VALUES), ..Lowering::of(8192, LANES).in_place() };

/// The files of a project, which lie in folders that are named as its package.
struct Project {
    package: String,
    files: Files,
}

impl Project {
    fn new(name: &str) -> Self {
        let mut project = Self { package: package(name), files: Files::new() };
        OF_NETWORKS.iter().for_each(|(path, text)| project.main(path, text));
        project
    }

    /// A file below a folder of sources. What it says of the package `headrace` it says of that of the project.
    fn add(&mut self, root: &str, path: &str, text: &str) {
        let own = text
            .replace("package headrace", &format!("package {}", self.package))
            .replace("import headrace.", &format!("import {}.", self.package));
        let folder = self.package.replace('.', "/");
        self.files.insert(format!("src/{root}/java/{folder}/{path}"), own.into_bytes());
    }

    fn main(&mut self, path: &str, text: &str) {
        self.add("main", path, text);
    }

    fn test(&mut self, path: &str, text: &str) {
        self.add("test", path, text);
    }

    fn finish(mut self, about: &str, command: &str, test: &str, usage: &str) -> Files {
        let name = self.package.trim_start_matches("headrace.").to_owned();
        let mut add = |path: &str, text: String| self.files.insert(path.into(), text.into_bytes());
        add("pom.xml", pom(&self.package, &name, about));
        add("Makefile", makefile(&self.package, &name, test));
        add("README.md", readme(&self.package, &name, about, command, usage));
        self.files
    }
}

fn head(options: &Options) -> String {
    format!("// Made by `{}`. Changes here will be lost.\n\npackage headrace;\n\n", options.command.replace('\n', " "))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The version of projects.
const VERSION: &str = "0.1.0";

/// Archives are modules of the name of their package. What is published goes with its sources and its documentation, by
/// plugins that no other build has to fetch.
fn pom(package: &str, name: &str, about: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headrace</groupId>
  <artifactId>{name}</artifactId>
  <version>{VERSION}</version>
  <description>{}</description>
  <properties>
    <!-- The compiler plugin that Maven 3.8 takes knows no release. -->
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <build>
    <plugins>
      <plugin>
        <artifactId>maven-jar-plugin</artifactId>
        <configuration>
          <archive>
            <manifestEntries>
              <Automatic-Module-Name>{package}</Automatic-Module-Name>
            </manifestEntries>
          </archive>
        </configuration>
      </plugin>
    </plugins>
  </build>
  <profiles>
    <profile>
      <id>publish</id>
      <build>
        <plugins>
          <plugin>
            <artifactId>maven-source-plugin</artifactId>
            <version>3.3.1</version>
            <executions>
              <execution>
                <goals>
                  <goal>jar-no-fork</goal>
                </goals>
              </execution>
            </executions>
          </plugin>
          <plugin>
            <artifactId>maven-javadoc-plugin</artifactId>
            <version>3.11.2</version>
            <executions>
              <execution>
                <goals>
                  <goal>jar</goal>
                </goals>
              </execution>
            </executions>
          </plugin>
        </plugins>
      </build>
    </profile>
  </profiles>
</project>
"#,
        escaped(about)
    )
}

/// What needs a JDK and nothing else.
fn makefile(package: &str, name: &str, test: &str) -> String {
    format!(
        "# For those without Maven: needs a JDK alone.\n\
         JAVAC = javac\nJAVA = java\nJAR = jar\nJAVADOC = javadoc\nJAVACFLAGS = -Xlint:all -Werror\n\
         SOURCES := $(shell find src -name '*.java')\nMAIN := $(filter src/main/%, $(SOURCES))\nARCHIVE = build/{name}-{VERSION}\n\n\
         test: build/compiled\n\t$(JAVA) -cp build/classes {package}.{test}\n\n\
         # An archive, its sources, its documentation.\njars: build/archived\n\n\
         build/compiled: $(SOURCES)\n\trm -rf build\n\tmkdir -p build/classes\n\
         \t$(JAVAC) --release 17 -encoding UTF-8 $(JAVACFLAGS) -d build/classes $(SOURCES)\n\
         \tfor folder in src/*/resources; do if [ -d $$folder ]; then cp -R $$folder/. build/classes; fi; done\n\
         \ttouch $@\n\n\
         build/archived: build/compiled\n\trm -rf build/main build/sources build/documentation\n\
         \tmkdir -p build/main build/sources\n\
         \t$(JAVAC) --release 17 -encoding UTF-8 $(JAVACFLAGS) -d build/main $(MAIN)\n\
         \tcp -R src/main/java/. build/sources\n\
         \tif [ -d src/main/resources ]; then for to in main sources; do cp -R src/main/resources/. build/$$to; done; fi\n\
         \techo 'Automatic-Module-Name: {package}' >build/manifest\n\
         \t$(JAR) --create --file $(ARCHIVE).jar --manifest build/manifest -C build/main .\n\
         \t$(JAR) --create --file $(ARCHIVE)-sources.jar -C build/sources .\n\
         \t$(JAVADOC) --release 17 -encoding UTF-8 -quiet -Xdoclint:all,-missing -Werror -d build/documentation $(MAIN)\n\
         \t$(JAR) --create --file $(ARCHIVE)-javadoc.jar -C build/documentation .\n\
         \ttouch $@\n\n\
         clean:\n\trm -rf build\n\n.PHONY: test jars clean\n"
    )
}

fn readme(package: &str, name: &str, about: &str, command: &str, usage: &str) -> String {
    format!(
        "# {name}\n\n{about} Made by `{command}`.\n\n\
         Java 17, no dependency. All state of a network, and all arrays that it works in, are in one object, which is overwritten\n\
         when it is destroyed; copies that the virtual machine makes when it moves objects are not reached.\n\n\
         {usage}```\nmvn test                  # or, with a JDK alone:\nmake test\n```\n\n\
         `make jars`, or `mvn -P publish package`, archives classes, sources and documentation: `{name}-{VERSION}.jar`, which is the\n\
         module `{package}` on a module path, `{name}-{VERSION}-sources.jar`, `{name}-{VERSION}-javadoc.jar`.\n"
    )
}

/// A project for a network: its class is `Context`.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    of_network_in_methods(network, recording, options, METHOD_BYTES)
}

/// The same with methods of about so many bytes of code at most; for tests of functions that become several methods.
///
/// # Errors
///
/// As of the function above.
pub fn of_network_in_methods(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
    most: u32,
) -> Result<Files, Vec<Diagnostic>> {
    let lowered = lowered(network, options)?;
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let about = format!("The network `{}` as a class.", network.name);
    let head = head(options);
    let mut project = Project::new(short);
    let class = free_of_records(&lowered, "Context", super::name);
    project.main(&format!("{class}.java"), &network::network(&head, &lowered, &class, false, most));
    project.test("RecordedTest.java", &answers::of_network(&head, &lowered, &class, recording));
    OF_RECORDINGS.iter().for_each(|(path, text)| project.test(path, text));
    Ok(project.finish(&about, &options.command, "RecordedTest", ""))
}

/// A project for operations of parameter sets, each with its network: a class for each, and a provider of the JCA.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    known: &[KnownAnswer],
    options: &Options,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let head = head(options);
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.own_name())).collect();
    let about = format!("{title}: {} in Java.", listed.join(", "));
    let mut project = Project::new(name);
    let mut problems = Vec::new();
    let lowered = on_all_processors(operations, |(spec, network)| {
        let (module, refused) = lowered_operation(spec, network, options, &LOWERING);
        on_operation(spec, refused);
        module.map(|module| {
            let class = free_of_records(&module, &format!("{}Network", class_name(spec)), super::name);
            (network::network(&head, &module, &class, true, METHOD_BYTES), class)
        })
    });
    for (printed, (spec, found)) in lowered.into_iter().zip(operations) {
        let own = class_name(spec);
        match printed {
            Ok((text, class)) => {
                project.main(&format!("{class}.java"), &text);
                project.main(&format!("{own}.java"), &operation(&head, spec, found, &class));
            }
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    OF_OPERATIONS.iter().for_each(|(path, text)| project.main(path, text));
    OF_RECORDINGS.iter().chain(&OF_KNOWN_ANSWERS).for_each(|(path, text)| project.test(path, text));
    let specs: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    let services = provider::services(&specs);
    let mut usage = String::new();
    if !services.is_empty() {
        let own = provider::provider_class(name);
        project.main(&format!("{own}.java"), &provider::provider(&head, name, title, &services));
        let class = format!("{}.{own}", project.package);
        project.files.insert(
            "src/main/resources/META-INF/services/java.security.Provider".into(),
            format!("{class}\n").into_bytes(),
        );
        usage = usage_of(&class, &provider::provider_name(name), &services);
    }
    project.test("KnownAnswersTest.java", &answers::of_operations(&head, name, &specs, &services));
    let text = crate::answers::text(specs.into_iter(), known);
    project.files.insert("src/test/resources/known_answers.txt".into(), text.into_bytes());
    Ok(project.finish(&about, &options.command, "KnownAnswersTest", &usage))
}

/// How programs reach the services.
fn usage_of(class: &str, provider: &str, services: &[provider::Service<'_>]) -> String {
    let rows: String = services
        .iter()
        .map(|service| {
            let names: Vec<String> = service.names.iter().map(|name| format!("`{name}`")).collect();
            format!("| `{}` | {} |\n", service.kind.name(), names.join(", "))
        })
        .collect();
    format!(
        "Programs that are written against the JCA use it without knowing it when its provider comes first, by a line of their own\n\
         or by the properties of the JDK (`security.provider.1={provider}`), as long as it is on the class path:\n\n\
         ```java\njava.security.Security.insertProviderAt(new {class}(), 1);\n```\n\n\
         OpenJDK takes providers of ciphers as they are; Oracle's JDK wants them in signed archives.\n\n| service | names |\n| --- | --- |\n{rows}\n{}",
        super::differences::readme(services)
    )
}
