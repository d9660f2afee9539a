//! `headrace man`.

use crate::cli::{Cli, ManArgs};
use crate::failure::Outcome;
use crate::output::{make_folder, write_file};
use clap::{Arg, ArgAction, CommandFactory};
use clap_mangen::Man;
use headrace::Error;

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
        let synopsis = synopsis(&command);
        let rendered = Man::new(command).title(name.clone()).render(&mut page);
        rendered.map_err(|error| Error::io(&name, &error))?;
        pages.push((format!("{name}.1"), with_synopsis(&page, &synopsis)));
        Ok(())
    };
    render(command, "headrace".into())?;
    for sub in subcommands {
        let name = format!("headrace-{}", sub.get_name());
        render(sub, name)?;
    }
    Ok(pages)
}

/// What the section begins with.
const SYNOPSIS: &[u8] = b".SH SYNOPSIS\n";

/// The page with its synopsis replaced: the one that it comes with has options without their values.
fn with_synopsis(page: &[u8], synopsis: &str) -> Vec<u8> {
    let at = |from: usize, wanted: &[u8]| {
        page[from..].windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
    };
    let Some(begin) = at(0, SYNOPSIS).map(|at| at + SYNOPSIS.len()) else { return page.to_vec() };
    let end = at(begin, b"\n.SH ").unwrap_or(page.len());
    [&page[..begin], synopsis.as_bytes(), &page[end..]].concat()
}

fn synopsis(command: &clap::Command) -> String {
    let bold = |text: &str| format!("\\fB{}\\fR", text.replace('-', "\\-"));
    let value = |argument: &Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| format!("\\fI{}\\fR", name.replace('-', "\\-"))).collect();
        names.join(" ")
    };
    let is_optional = |argument: &Arg| argument.get_num_args().is_some_and(|number| number.min_values() == 0);
    let mut parts = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let shown = match (argument.get_long(), argument.get_short()) {
            (None, None) => value(argument),
            (long, short) => {
                let name = long.map_or_else(|| format!("-{}", short.unwrap_or_default()), |long| format!("--{long}"));
                match argument.get_action() {
                    ArgAction::Set | ArgAction::Append if is_optional(argument) => {
                        format!("{}[={}]", bold(&name), value(argument))
                    }
                    ArgAction::Set | ArgAction::Append => format!("{} {}", bold(&name), value(argument)),
                    _ => bold(&name),
                }
            }
        };
        let many = if matches!(argument.get_action(), ArgAction::Append) { "..." } else { "" };
        parts.push(if argument.is_required_set() { format!("{shown}{many}") } else { format!("[{shown}]{many}") });
    }
    if command.has_subcommands() {
        parts.push("\\fICOMMAND\\fR".into());
    }
    parts.join(" ")
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
            let page = String::from_utf8_lossy(page);
            assert!(page.contains(".SH NAME"), "{name}");
            assert!(page.contains(".SH SYNOPSIS\n\\fBheadrace") && page.contains("\n.SH DESCRIPTION"), "{name}");
        }
        let of_use = pages.iter().find(|(name, _)| name == "headrace-use.1").expect("it has a page");
        let of_use = String::from_utf8_lossy(&of_use.1);
        assert!(of_use.contains("[\\fB\\-\\-key\\fR \\fIKEY\\fR]"), "{of_use}");
    }
}
