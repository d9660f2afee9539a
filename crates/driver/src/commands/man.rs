//! `headrace man`.

use crate::cli::{Cli, ManArgs};
use crate::failure::{Failure, Outcome};
use crate::output::{make_folder, write_file};
use clap::CommandFactory;
use clap_mangen::Man;

/// Writes a manual page for the command and one for each of its commands.
pub fn man(arguments: &ManArgs) -> Outcome {
    make_folder(&arguments.output)?;
    for (name, page) in pages()? {
        write_file(&arguments.output.join(name), &page)?;
    }
    Ok(())
}

/// File name and text of every manual page.
pub fn pages() -> Outcome<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command();
    command.build();
    // A page is named by the whole command, which `display_name` has after building.
    let subcommands: Vec<_> = command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned().collect();
    let mut pages = Vec::new();
    let mut render = |command: clap::Command, name: String| {
        let mut page = Vec::new();
        let rendered = Man::new(command).title(name.clone()).render(&mut page);
        rendered.map_err(|error| Failure::io(&name, &error))?;
        pages.push((format!("{name}.1"), page));
        Ok(())
    };
    render(command, "headrace".into())?;
    for sub in subcommands {
        let name = format!("headrace-{}", sub.get_name());
        render(sub, name)?;
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().expect("rendering into memory does not fail");
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"headrace.1") && names.contains(&"headrace-run.1"), "{names:?}");
        for (name, page) in &pages {
            assert!(String::from_utf8_lossy(page).contains(".SH NAME"), "{name}");
        }
    }
}
