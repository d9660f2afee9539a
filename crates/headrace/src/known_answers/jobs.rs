//! The jobs of a test: which records are tried on which networks, in which places.

use super::{Done, Listener, Place, Tally, Variants, on_engines, processors, projects};
use crate::engines::{self, Available};
use crate::error::{Error, Result};
use crate::toolchains::{self, Found};
use crate::workspace::{Remark, Workspace};
use headrace_exchange::check_ports;
use headrace_ir::Network;
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::known_answers::{Case, cases};
use headrace_library::vectors::VectorFile;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What is tested.
#[derive(Clone, Debug)]
pub struct Test {
    /// Primitives, parameter sets, or a set and an operation; everything when empty.
    pub primitives: Vec<String>,
    /// Where; the engines to begin with.
    pub places: Vec<Place>,
    /// In which ways of writing the primitives.
    pub variants: Variants,
    /// The records, if not the library's.
    pub vectors: Option<Vectors>,
    /// What compiles the projects of the one target that is among the places, if not what is found.
    pub compiler: Option<String>,
    /// Where the command `headrace` is, for projects that it runs.
    pub command: Option<PathBuf>,
    /// Networks and batches of projects at a time.
    pub workers: usize,
    /// How long a command may take which builds or tests projects.
    pub limit: Duration,
}

impl Default for Test {
    fn default() -> Self {
        Self {
            primitives: Vec::new(),
            places: engines::ALL.into_iter().map(Place::Engine).collect(),
            variants: Variants::Usual,
            vectors: None,
            compiler: None,
            command: None,
            workers: processors(),
            limit: Duration::from_secs(1800),
        }
    }
}

/// Records of a known-answer file.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// The name of the file without folders, by which manifests know it.
    pub name: String,
    /// What messages call it.
    pub display: String,
    /// What stands in it.
    pub bytes: Vec<u8>,
}

/// A known-answer file with its cases.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name without folders.
    pub name: String,
    /// What it asks and says.
    pub cases: Vec<Case>,
}

/// All cases of one operation that run on one network and in one place.
#[derive(Clone, Debug)]
pub struct Job {
    /// The operation, with the arguments of its records.
    pub spec: Arc<OperationSpec>,
    /// The variant of its network.
    pub variant: String,
    /// What the records give the network beside what the manifest does.
    pub arguments: Vec<(String, String)>,
    /// Where they are tried.
    pub place: Place,
    /// The network, or what is wrong with it.
    pub network: std::result::Result<Arc<Network>, String>,
    /// File and case.
    pub cases: Vec<(usize, usize)>,
}

/// Tests that are ready to run.
pub struct Tests {
    /// All primitives.
    pub library: Library,
    /// The operations that are meant.
    pub scope: Vec<OperationSpec>,
    /// Known-answer files.
    pub files: Vec<File>,
    /// What is to be tried.
    pub jobs: Vec<Job>,
    /// Places where nothing can be tried, and why.
    pub absent: Vec<(Place, String)>,
    workers: usize,
    plan: projects::Plan,
}

impl Tests {
    /// Runs the jobs of these numbers, and gives what came of each.
    pub fn run(&self, wanted: Vec<usize>, listener: &dyn Listener) -> Vec<(usize, Done)> {
        let of_engines = |at: &usize| matches!(self.jobs[*at].place, Place::Engine(_));
        let (on_engines, in_projects): (Vec<usize>, Vec<usize>) = wanted.into_iter().partition(of_engines);
        let mut done = on_engines::run(&self.jobs, on_engines, &self.files, self.workers, listener);
        done.extend(projects::run(&self.jobs, in_projects, &self.files, &self.plan, listener));
        done
    }

    /// What came of all jobs together.
    pub fn tally(&self, done: &[(usize, Done)]) -> Tally {
        let mut tally = Tally::default();
        for (at, done) in done {
            tally.add(&self.jobs[*at], done, &self.files);
        }
        for (place, why) in &self.absent {
            tally.add_absent(*place, why, &self.files);
        }
        tally
    }
}

impl Workspace {
    /// Runs known-answer tests.
    ///
    /// ```
    /// # fn main() -> headrace::Result {
    /// use headrace::engines::EngineName;
    /// use headrace::known_answers::{Place, Test};
    /// let places = vec![Place::Engine(EngineName::Interp)];
    /// let test = Test { primitives: vec!["base64".into()], places, ..Test::default() };
    /// let tally = headrace::Workspace::default().test(&test, &())?;
    /// let (passed, failed, _) = tally.counts();
    /// assert!(passed > 0 && failed == 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`Workspace::tests`]. Answers that differ are no error: the tally has them.
    pub fn test(&mut self, test: &Test, listener: &dyn Listener) -> Result<Tally> {
        let tests = self.tests(test)?;
        let done = tests.run((0..tests.jobs.len()).collect(), listener);
        Ok(tests.tally(&done))
    }

    /// Makes tests ready: reads records, elaborates networks, looks for tools.
    ///
    /// # Errors
    ///
    /// Nothing is called so; a file cannot be read; nothing that is asked for can run on this machine. A network that is wrong
    /// is a remark, and fails its cases.
    pub fn tests(&mut self, test: &Test) -> Result<Tests> {
        let library = self.library()?;
        let words: Vec<&str> = test.primitives.iter().map(String::as_str).collect();
        let scope = library.select(&words).map_err(|problem| Error::unknown(&problem))?;
        if let Variants::Only(name) = &test.variants
            && scope.iter().all(|spec| spec.variant(Some(name)).is_none())
        {
            return Err(Error::usage(format!("nothing has a variant `{}`", name.escape_debug())));
        }
        let files = self.known_answer_files(&library, &scope, test.vectors.as_ref())?;
        if test.compiler.is_some() && !matches!(test.places[..], [Place::Project(_)]) {
            return Err(Error::usage(
                "--compiler is for one target, which --on names; of the engine native, CC says it",
            ));
        }
        let (mut present, mut absent, mut found) = (Vec::new(), Vec::new(), HashMap::new());
        for place in &test.places {
            match tools_of(*place, test) {
                Ok(tools) => {
                    present.push(*place);
                    found.extend(tools.map(|tools| (place.name(), tools)));
                }
                Err(why) => {
                    self.remark(Remark::Note(format!("{}: not run: {why}", place.name())));
                    absent.push((*place, why));
                }
            }
        }
        if present.is_empty() {
            return Err(Error::MissingTool("nothing that was asked for can run on this machine".into()));
        }
        let jobs = self.jobs(&library, &files, &present, &test.variants);
        let plan = projects::Plan { found, workers: test.workers, limit: test.limit };
        let scope = scope.into_iter().cloned().collect();
        Ok(Tests { library, scope, files, jobs, absent, workers: test.workers, plan })
    }

    /// Reads the known-answer files of operations, or takes the one that is given, and makes cases of them.
    fn known_answer_files(
        &mut self,
        library: &Library,
        scope: &[&OperationSpec],
        given: Option<&Vectors>,
    ) -> Result<Vec<File>> {
        let read = match given {
            None => self.read_vectors(library, scope)?.into_iter().map(|(name, id)| (name, id, None)).collect(),
            Some(given) => {
                let text = String::from_utf8_lossy(&given.bytes);
                let id = self.session.sources.add(given.display.clone(), text);
                vec![(given.name.clone(), id, Some(given.bytes.as_slice()))]
            }
        };
        let mut files = Vec::new();
        for (name, id, bytes) in read {
            let bytes = bytes.unwrap_or_else(|| self.session.sources.text(id).as_bytes());
            let (file, mut problems) = VectorFile::parse(id, bytes);
            let made = cases(library, &name, &file, scope);
            problems.extend(made.problems);
            self.remark_problems(problems);
            files.push(File { name, cases: made.cases });
        }
        Ok(files)
    }

    /// A job for every operation, variant, set of network arguments and place that has cases.
    fn jobs(&mut self, library: &Library, files: &[File], places: &[Place], variants: &Variants) -> Vec<Job> {
        let mut networks = HashMap::new();
        let mut jobs = Vec::new();
        for ((spec, arguments), cases) in groups(library, files) {
            let plain = &library.operations()[spec];
            let spec = Arc::new(plain.with_arguments(&arguments));
            for (at, (variant, named)) in spec.variants.iter().zip(&plain.variants).enumerate() {
                let places = places.iter().copied().filter(|place| variants.has(*place, at, &named.name));
                let places: Vec<Place> = places.collect();
                if places.is_empty() {
                    continue;
                }
                let text = variant.network.to_string();
                let network = networks.entry(text).or_insert_with_key(|text| self.network_of_cases(text, &spec));
                for place in places {
                    jobs.push(Job {
                        spec: spec.clone(),
                        variant: named.name.clone(),
                        arguments: arguments.clone(),
                        place,
                        network: network.clone(),
                        cases: cases.clone(),
                    });
                }
            }
        }
        jobs
    }

    /// The network of cases; what is wrong with its sources is a remark.
    fn network_of_cases(&mut self, text: &str, spec: &OperationSpec) -> std::result::Result<Arc<Network>, String> {
        let network = self.network(text, &[]).map_err(|error| match error {
            Error::Sources(_) => {
                self.remark(Remark::Failed(error));
                format!("`{text}` has errors")
            }
            error => error.to_string(),
        })?;
        check_ports(spec, &network).map(|()| network)
    }
}

/// Operation and the arguments that its records give its network.
type Group = (usize, Vec<(String, String)>);

/// Cases by what they run on: file and case.
fn groups(library: &Library, files: &[File]) -> BTreeMap<Group, Vec<(usize, usize)>> {
    let mut groups: BTreeMap<Group, Vec<(usize, usize)>> = BTreeMap::new();
    let numbered = library.operations().iter().enumerate();
    let position: HashMap<(&str, &str), usize> =
        numbered.map(|(at, spec)| ((spec.set.as_str(), spec.name.as_str()), at)).collect();
    for (file_at, file) in files.iter().enumerate() {
        for (case_at, case) in file.cases.iter().enumerate() {
            if let Some(spec) = position.get(&(case.set.as_str(), case.operation.as_str())) {
                groups.entry((*spec, case.arguments.clone())).or_default().push((file_at, case_at));
            }
        }
    }
    groups
}

/// What a place needs, where it needs more than this library; or what is missing.
fn tools_of(place: Place, test: &Test) -> std::result::Result<Option<Found>, String> {
    match place {
        Place::Project(toolchain) => {
            toolchains::find(toolchain, test.compiler.as_deref(), test.command.as_deref()).map(Some)
        }
        Place::Engine(engine) => match engines::availability(engine) {
            Available::Here(_) => Ok(None),
            Available::Missing(why) => Err(why),
        },
    }
}
