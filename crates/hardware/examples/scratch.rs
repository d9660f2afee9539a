use headrace_frontend::{Session, Top, elaborate};
use headrace_hardware::{Datapath, Options, lower};
use std::path::Path;
#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
fn main() {
    let text = std::env::args().nth(1).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new();
    let network = elaborate(&mut session, &folders::Folders(vec![root]), &Top::Expression(text), &[]).unwrap();
    match lower(&network, &Options { datapath: Datapath::Always, wide_ports: true, ..Options::default() }) {
        Ok(design) => {
            for module in &design.modules {
                println!("{:#?}", module.about);
            }
        }
        Err(problems) => println!("{}", problems[0].message),
    }
}
