//! Packaging. Projects: what is printed for networks, with a CMake package, a test and a README around it.

use super::shape::{class_name, header_name, operation};
use super::{answers, name, network};
use crate::braces::free_of_records;
use crate::lowered::{COMPILED_LANES, lowered, lowered_operation};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_lowering::{Options as Lowering, Streams};
use headrace_program::names::identifier;
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// How operations are lowered.
const LOWERING: Lowering = Lowering::of(8192, COMPILED_LANES).with_vectors().with_streams(Streams::Fast);

/// The headers that projects ship with.
const SUPPORT: &str = include_str!("../../../../runtime/cpp/support.hpp");
const MESSAGE: &str = include_str!("../../../../runtime/cpp/message.hpp");
const ANSWER: &str = include_str!("../../../../runtime/cpp/test/answer.hpp");

/// The files of a project, all in a namespace of its own below `headrace`.
struct Project {
    space: String,
    files: Files,
}

impl Project {
    fn new(text: &str) -> Self {
        let mut project = Self { space: name(&identifier(text).to_lowercase()), files: Files::new() };
        project.header("support.hpp", SUPPORT);
        project
    }

    /// A file. What it says of the namespace and the headers of `headrace` it says of those of the project.
    fn add(&mut self, path: &str, text: &str) {
        let own = text
            .replace("namespace headrace", &format!("namespace headrace::{}", self.space))
            .replace("<headrace/message.hpp>", &format!("<headrace/{}/message.hpp>", self.space));
        self.files.insert(path.to_owned(), own.into_bytes());
    }

    fn header(&mut self, path: &str, text: &str) {
        let path = format!("include/headrace/{}/{path}", self.space);
        self.add(&path, text);
    }

    /// The header that includes all others.
    fn whole(&mut self, head: &str, about: &str, headers: &[String]) {
        let mut text = format!("{head}// {about}\n#pragma once\n\n");
        for header in headers {
            let _ = writeln!(text, "#include \"{}/{header}.hpp\"", self.space);
        }
        let path = format!("include/headrace/{}.hpp", self.space);
        self.files.insert(path, text.into_bytes());
    }

    fn finish(mut self, about: &str, command: &str, test: &str, arguments: &str) -> Files {
        let made = format!("# Made by `{}`. Changes here will be lost.\n\n", command.replace('\n', " "));
        let mut add = |path: String, text: String| self.files.insert(path, text.into_bytes());
        let package = format!("headrace_{}", self.space);
        add("CMakeLists.txt".into(), cmake(&made, &self.space, test, arguments));
        add(
            format!("{package}-config.cmake.in"),
            format!("{made}@PACKAGE_INIT@\ninclude(\"${{CMAKE_CURRENT_LIST_DIR}}/{package}-targets.cmake\")\n"),
        );
        add("README.md".into(), readme(&self.space, about, command));
        self.files
    }
}

fn head(options: &Options) -> String {
    format!("// Made by `{}`. Changes here will be lost.\n\n", options.command.replace('\n', " "))
}

fn cmake(made: &str, space: &str, test: &str, arguments: &str) -> String {
    let package = format!("headrace_{space}");
    format!(
        "{made}cmake_minimum_required(VERSION 3.16)
project({package} VERSION 0.1.0 LANGUAGES CXX)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
include(CTest)

add_library({package} INTERFACE)
add_library(headrace::{space} ALIAS {package})
set_target_properties({package} PROPERTIES EXPORT_NAME {space})
target_compile_features({package} INTERFACE cxx_std_20)
target_include_directories({package} INTERFACE $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include> $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}>)

if(BUILD_TESTING)
  add_executable({package}_test test/{test}.cpp)
  set_target_properties({package}_test PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries({package}_test PRIVATE {package})
  add_test(NAME {package} COMMAND {package}_test{arguments})
endif()

install(TARGETS {package} EXPORT {package}-targets)
install(DIRECTORY include/ DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {package}-targets NAMESPACE headrace:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{package})
configure_package_config_file({package}-config.cmake.in {package}-config.cmake INSTALL_DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{package})
write_basic_package_version_file({package}-config-version.cmake COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{package}-config.cmake ${{CMAKE_CURRENT_BINARY_DIR}}/{package}-config-version.cmake
        DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{package})
"
    )
}

fn readme(space: &str, about: &str, command: &str) -> String {
    format!(
        "# {space}\n\n{about} Made by `{command}`.\n\n\
         Headers for C++20 that need nothing but its standard library, no heap and no global state. Everything is in the namespace\n\
         `headrace::{space}`; `include/headrace/{space}.hpp` includes it all. What cannot be done is an exception of the class `Error`.\n\
         Contexts overwrite themselves when they are destroyed. A context is large: put it on the heap, or keep it where it is.\n\n\
         ```\ncmake -B build && cmake --build build && ctest --test-dir build\n```\n\n\
         `cmake --install build --prefix P` installs the headers and a CMake package: `find_package(headrace_{space})`, target\n\
         `headrace::{space}`.\n"
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
    let lowered = lowered(network, options)?;
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let about = format!("The network `{}` as a class.", network.name);
    let head = head(options);
    let mut project = Project::new(short);
    let class = free_of_records(&lowered, "Context", super::name);
    project.header("network.hpp", &network::network(&head, &lowered, &class, false));
    project.whole(&head, &about, &["network".to_owned()]);
    let space = format!("headrace::{}", project.space);
    project.add("test/recorded.cpp", &answers::of_network(&head, &space, &class, &lowered, recording));
    Ok(project.finish(&about, &options.command, "recorded", ""))
}

/// A project for operations of parameter sets, each with its network: a class for each.
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
    let about = format!("{title}: {} in C++.", listed.join(", "));
    let mut project = Project::new(name);
    let (mut problems, mut headers) = (Vec::new(), Vec::new());
    let lowered = on_all_processors(operations, |(spec, network)| {
        let (module, refused) = lowered_operation(spec, network, options, &LOWERING);
        on_operation(spec, refused);
        module.map(|module| {
            let class = free_of_records(&module, &format!("{}Network", class_name(spec)), super::name);
            (network::network(&head, &module, &class, true), class)
        })
    });
    for (printed, (spec, found)) in lowered.into_iter().zip(operations) {
        let own = header_name(spec);
        match printed {
            Ok((text, class)) => {
                let of_network = format!("{own}_network");
                project.header(&format!("{of_network}.hpp"), &text);
                project.header(&format!("{own}.hpp"), &operation(&head, spec, found, &of_network, &class));
            }
            Err(found) => problems.extend(found),
        }
        headers.push(own);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    project.header("message.hpp", MESSAGE);
    project.whole(&head, &about, &headers);
    let specs: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    let header = format!("{}.hpp", project.space);
    project.add("test/known_answers.cpp", &answers::of_operations(&head, &header, &specs));
    project.add("test/answer.hpp", ANSWER);
    let text = crate::answers::text(specs.into_iter(), known);
    project.files.insert("test/known_answers.txt".into(), text.into_bytes());
    let arguments = " ${CMAKE_CURRENT_SOURCE_DIR}/test/known_answers.txt";
    Ok(project.finish(&about, &options.command, "known_answers", arguments))
}
