//! What holds for every primitive that this repository ships.

mod loading;

use std::collections::BTreeSet;

use headrace_library::known_answers::{Plan, Step, Verdict, cases};
use headrace_library::vectors::VectorFile;
use headrace_source::FileId;
use loading::{library, root};

/// Every file in a `vectors` folder is named by the manifest beside it and the other way round, and every record of
/// every file makes a case whose message has legal sizes, unless it must be rejected.
#[test]
fn every_record_of_every_primitive_makes_a_case() {
    let library = library(&[]);
    let everything = library.select(&[]).unwrap();
    let mut n_records = 0;
    for manifest in library.manifests() {
        let mut named: BTreeSet<String> = library.vector_files(manifest).into_iter().collect();
        let folder = format!("{}/vectors", manifest.folder);
        let Ok(entries) = std::fs::read_dir(root().join(&folder)) else {
            assert!(named.is_empty(), "{folder} is missing");
            continue;
        };
        for entry in entries {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{folder}/{name}");
            assert!(named.remove(&path), "no manifest names {path}");
            let (file, problems) = VectorFile::parse(FileId(0), &std::fs::read(root().join(&path)).unwrap());
            assert!(problems.is_empty(), "{path}: {problems:#?}");
            let found = cases(&library, &name, &file, &everything);
            assert!(found.problems.is_empty(), "{path}: {:#?}", found.problems);
            let covered: BTreeSet<usize> = found.cases.iter().map(|case| case.record).collect();
            assert_eq!(covered.len(), file.records.len(), "{path}: records without a case");
            for case in &found.cases {
                let spec = library.operation(&case.set, &case.operation).unwrap();
                let rejects = match &case.plan {
                    Plan::Reject(_) | Plan::Malformed(_) => true,
                    Plan::Requests(requests) => requests.iter().any(|(_, expected)| expected.is_none()),
                    _ => false,
                };
                match case.play(spec).start() {
                    Step::Perform(_) => {}
                    Step::Done(verdict) => assert!(
                        rejects && verdict == Verdict::Passed,
                        "{path}, record {}, {}: {verdict:?}",
                        case.count,
                        case.operation
                    ),
                }
            }
            n_records += file.records.len();
        }
        assert!(named.is_empty(), "there are no files {named:?}");
    }
    assert!(n_records > 0);
}
