//! Folders of generated files: written whole or not at all, and never over what somebody else wrote.
//!
//! A list beside the files, [`LIST`], says which were written and what was in them (SHA-256). Later, what still is as it
//! was written is replaced; what has been changed since, and what is not in the list, belongs to the user. All files are
//! first written into a hidden folder, so that a disk that is full changes nothing, and then renamed; the list knows of both
//! contents meanwhile, so that whoever is interrupted just there can do the same again.
//!
//! Symbolic links inside the folder are not followed, for they may lead anywhere, and what is no regular file is not opened,
//! for a pipe would wait for its other end. The folder itself may be named through a link.

use crate::failure::Outcome;
use crate::output::{make_folder, write_file};
use crate::whole_file::{HIDDEN, begun, ended, without_name};
use headrace::Error;
use headrace::error::describe;
use headrace_targets::project::Files;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use tempfile::TempDir;

/// The list of what was written into a folder.
pub const LIST: &str = ".headrace-files";

/// Longest list that is read, in bytes.
const MAX_LIST_BYTES: u64 = 1 << 24;

/// Most files that a refusal names.
const MAX_NAMED: usize = 5;

/// What may be in the folder already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing but what was written before, and what was made of that.
    Nothing,
    /// Anything under other names.
    Others,
    /// Anything; it is replaced.
    Force,
}

/// The contents that each file had when it was written.
type Written = BTreeMap<String, Vec<String>>;

/// Refuses early what [`write`] would refuse whatever the files are: a folder of somebody else, or none.
///
/// # Errors
///
/// As [`write`].
pub fn check(folder: &Path, beside: Beside) -> Outcome {
    match fs::metadata(folder) {
        Ok(there) if !there.is_dir() => Err(Error::wrong(format!("{}: is a file, not a folder", folder.display()))),
        Ok(_) => known(folder, beside).map(|_| ()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_symlink() => Ok(()),
        Err(error) => Err(Error::io(folder.display(), &error)),
    }
}

/// Writes files into a folder, which is made with those above it unless it is there.
///
/// # Errors
///
/// The folder holds what somebody else wrote, or cannot be written; nothing is changed then.
pub fn write(folder: &Path, files: &Files, beside: Beside) -> Outcome {
    let failed = |error: io::Error| Error::io(folder.display(), &error);
    check(folder, beside)?;
    match folder.is_dir() {
        true => replace(folder, files, beside),
        false => {
            let above = crate::whole_file::folder_of(folder);
            make_folder(above)?;
            let stage = stage(above, files)?;
            write_file(&stage.path().join(LIST), list(&hashes(files)).as_bytes())?;
            fs::rename(stage.path(), folder).map_err(failed)?;
            ended(stage.path());
            // It is where it belongs.
            let _ = stage.keep();
            Ok(())
        }
    }
}

/// Writes all files into a hidden folder.
fn stage(above: &Path, files: &Files) -> Outcome<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(HIDDEN);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let stage = builder.tempdir_in(above).map_err(|error| {
        Error::wrong(format!("{}: cannot be written to: {}", above.display(), describe(&without_name(error))))
    })?;
    begun(stage.path());
    for (path, bytes) in files {
        let at = stage.path().join(path);
        let written = at.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&at, bytes));
        if let Err(error) = written {
            ended(stage.path());
            return Err(Error::wrong(format!("{path}: {}; nothing was written", describe(&error))));
        }
    }
    Ok(stage)
}

/// What was written into a folder, which is refused where it is somebody else's.
fn known(folder: &Path, beside: Beside) -> Outcome<Written> {
    let failed = |error: io::Error| Error::io(folder.display(), &error);
    let mut is_empty = true;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // What was left by a command that was killed.
        if !(is_folder && name.to_string_lossy().starts_with(HIDDEN)) {
            is_empty = false;
        }
    }
    let old = read_list(folder)?;
    if beside == Beside::Nothing && !is_empty && old.is_none() {
        return Err(Error::wrong(format!(
            "{}: is not empty, and nothing in it was written by this command; nothing was written \
             (`--force` writes into it)",
            folder.display()
        )));
    }
    Ok(old.unwrap_or_default())
}

fn replace(folder: &Path, files: &Files, beside: Beside) -> Outcome {
    let old = known(folder, beside)?;
    let new = hashes(files);
    // First, for `--force`, which the other refusal speaks of, does not help here.
    refuse_blocked(folder, files)?;
    if beside != Beside::Force {
        refuse_foreign(folder, files, &old, &new, beside)?;
    }
    let stage = stage(folder, files)?;
    let mut both = old.clone();
    for (path, hashes) in &new {
        both.entry(path.clone()).or_default().extend(hashes.iter().cloned());
    }
    put_list(folder, stage.path(), &both)?;
    for path in files.keys() {
        let to = folder.join(path);
        let moved = to.parent().map_or(Ok(()), fs::create_dir_all);
        moved
            .and_then(|()| fs::rename(stage.path().join(path), &to))
            .map_err(|error| Error::io(to.display(), &error))?;
    }
    for (path, hashes) in &old {
        let at = folder.join(path);
        let is_ours = || hash_of(&at).is_some_and(|hash| hashes.contains(&hash));
        if !files.contains_key(path) && !leads_out(folder, &at) && is_ours() {
            // What cannot be removed is only one file too many.
            let _ = fs::remove_file(&at);
        }
    }
    put_list(folder, stage.path(), &new)?;
    ended(stage.path());
    Ok(())
}

/// The folders between a folder and what lies in it, the innermost first.
fn between<'p>(folder: &'p Path, at: &'p Path) -> impl Iterator<Item = &'p Path> {
    at.ancestors().skip(1).take_while(move |above| *above != folder)
}

/// Whether the way from a folder to what lies in it goes through a symbolic link.
fn leads_out(folder: &Path, at: &Path) -> bool {
    between(folder, at).any(Path::is_symlink)
}

/// What kind of thing lies at a path; that of a link itself.
fn kind_of(path: &Path) -> Option<fs::FileType> {
    fs::symlink_metadata(path).ok().map(|there| there.file_type())
}

/// What is in the way of a file that is to be written: something that is no folder where its folder is to be, or no file
/// where it is to be itself.
fn obstacle(folder: &Path, path: &str) -> Option<String> {
    let at = folder.join(path);
    let mut above: Vec<&Path> = between(folder, &at).collect();
    above.reverse();
    let blocks = |above: &&Path| kind_of(above).is_some_and(|kind| !kind.is_dir());
    let in_way = above.into_iter().find(blocks).or_else(|| {
        let is_blocked = kind_of(&at).is_some_and(|kind| !kind.is_file());
        is_blocked.then_some(at.as_path())
    })?;
    let kind = match kind_of(in_way)? {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_file() => "a file",
        _ => "a pipe or a device",
    };
    let name = in_way.strip_prefix(folder).unwrap_or(in_way);
    Some(format!("`{}` is {kind}", name.display()))
}

/// Refuses to write where something is in the way that no file can take the place of, or that leads out of the folder.
fn refuse_blocked(folder: &Path, files: &Files) -> Outcome {
    let mut blocked: Vec<String> = files.keys().filter_map(|path| obstacle(folder, path)).collect();
    blocked.dedup();
    if blocked.is_empty() {
        return Ok(());
    }
    Err(Error::wrong(format!(
        "{}: {}, where files are to be written; nothing was written (move that away, or name another folder)",
        folder.display(),
        named(&blocked)
    )))
}

/// Refuses to write over what is not as it was written, or was not written by this command.
fn refuse_foreign(folder: &Path, files: &Files, old: &Written, new: &Written, beside: Beside) -> Outcome {
    let mut foreign = Vec::new();
    for path in files.keys() {
        let at = folder.join(path);
        let is_known =
            |hash: String| [old, new].iter().any(|list| list.get(path).is_some_and(|hashes| hashes.contains(&hash)));
        if fs::symlink_metadata(&at).is_ok() && !hash_of(&at).is_some_and(is_known) {
            foreign.push(path.as_str());
        }
    }
    if foreign.is_empty() {
        return Ok(());
    }
    Err(Error::wrong(format!(
        "{}: {} would be replaced, and this command did not write what is there now; nothing was written ({})",
        folder.display(),
        named(&foreign),
        if beside == Beside::Others { "another folder can be named" } else { "`--force` replaces it" }
    )))
}

/// The first few of a list, and how many more there are.
fn named<T: AsRef<str>>(all: &[T]) -> String {
    let first: Vec<&str> = all.iter().take(MAX_NAMED).map(AsRef::as_ref).collect();
    let more = all.len() - first.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

fn hashes(files: &Files) -> Written {
    files.iter().map(|(path, bytes)| (path.clone(), vec![hash(bytes)])).collect()
}

fn hash(bytes: &[u8]) -> String {
    crate::sinks::hexadecimal(&Sha256::digest(bytes))
}

/// The hash of a regular file; none where there is none, or a link to one.
fn hash_of(path: &Path) -> Option<String> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut file = fs::File::open(path).ok()?;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash).ok()?;
    Some(crate::sinks::hexadecimal(&hash.finalize()))
}

fn list(written: &Written) -> String {
    let mut text = String::from(
        "# What headrace wrote here (SHA-256); it replaces what has not been changed since, and nothing else.\n",
    );
    for (path, hashes) in written {
        for hash in hashes {
            let _ = writeln!(text, "{hash}  {path}");
        }
    }
    text
}

/// Puts the list into a folder, from a hidden one in it: renaming replaces even a link, whatever that leads to.
fn put_list(folder: &Path, stage: &Path, written: &Written) -> Outcome {
    let (made, at) = (stage.join(LIST), folder.join(LIST));
    let put = fs::write(&made, list(written)).and_then(|()| fs::rename(&made, &at));
    put.map_err(|error| Error::io(at.display(), &error))
}

fn read_list(folder: &Path) -> Outcome<Option<Written>> {
    let path = folder.join(LIST);
    match fs::symlink_metadata(&path) {
        Err(_) => return Ok(None),
        Ok(there) if !there.is_file() => {
            return Err(Error::wrong(format!(
                "{}: is no regular file, as the list of what was written here is; nothing was written",
                path.display()
            )));
        }
        Ok(_) => {}
    }
    let bytes = headrace::reading::read_at_most(&path, MAX_LIST_BYTES).map_err(Error::wrong)?;
    let mut written = Written::new();
    for line in String::from_utf8_lossy(&bytes).lines() {
        // Nothing outside of the folder is ever touched, whatever stands there.
        if let Some((hash, path)) = line.split_once("  ")
            && hash.len() == 64
            && !Path::new(path).is_absolute()
            && Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
        {
            written.entry(path.to_owned()).or_default().push(hash.to_owned());
        }
    }
    Ok(Some(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("the file is there")
    }

    #[test]
    fn what_was_written_is_replaced_and_what_was_not_is_kept() {
        let above = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = above.path().join("new/project");
        write(&folder, &files(&[("a", "1"), ("src/b", "1"), ("old", "1")]), Beside::Nothing).expect("it is new");
        fs::create_dir(folder.join("target")).expect("the folder is writable");
        fs::write(folder.join("target/made"), "by a build").expect("the folder is writable");
        write(&folder, &files(&[("a", "2"), ("src/b", "1"), ("c", "1")]), Beside::Nothing).expect("it is as written");
        assert_eq!((text(&folder.join("a")), text(&folder.join("c"))), ("2".into(), "1".into()));
        assert!(!folder.join("old").exists() && folder.join("target/made").exists());
        fs::write(folder.join("src/b"), "mine").expect("the folder is writable");
        let refused =
            write(&folder, &files(&[("a", "3"), ("src/b", "2")]), Beside::Nothing).expect_err("it was changed");
        assert!(refused.to_string().contains("src/b would be replaced"), "{refused}");
        assert_eq!((text(&folder.join("a")), text(&folder.join("src/b"))), ("2".into(), "mine".into()));
        write(&folder, &files(&[("a", "3"), ("src/b", "2")]), Beside::Force).expect("it is forced");
        assert_eq!((text(&folder.join("a")), text(&folder.join("src/b"))), ("3".into(), "2".into()));
        assert_eq!(fs::read_dir(above.path().join("new")).expect("it is there").count(), 1, "nothing hidden is left");
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let makefile = folder.path().join("Makefile");
        fs::write(&makefile, "mine").expect("the folder is writable");
        let made = files(&[("Makefile", "ours"), ("new", "1")]);
        for beside in [Beside::Nothing, Beside::Others] {
            assert!(write(folder.path(), &made, beside).is_err());
            assert_eq!(text(&makefile), "mine");
            assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
        }
        write(folder.path(), &files(&[("new", "1")]), Beside::Others).expect("it stands beside");
        assert!(
            write(&makefile, &made, Beside::Force).is_err_and(|refused| refused.to_string().contains("not a folder"))
        );
        fs::write(folder.path().join(LIST), format!("{}  ../outside\n", hash(b"x"))).expect("the folder is writable");
        assert_eq!(read_list(folder.path()).expect("it can be read"), Some(Written::new()));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_folder_lead_nowhere() {
        use std::os::unix::fs::symlink;
        let (folder, other) = (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
        let at = |name: &str| folder.path().join(name);
        write(folder.path(), &files(&[("a", "1"), ("src/b", "1")]), Beside::Nothing).expect("it is empty");
        fs::remove_dir_all(at("src")).expect("it is ours");
        symlink(other.path(), at("src")).expect("the folder is writable");
        fs::write(other.path().join("b"), "1").expect("the folder is writable");
        let untouched = || {
            assert_eq!(text(&other.path().join("b")), "1");
            assert_eq!(fs::read_dir(other.path()).expect("it is there").count(), 1);
        };
        for beside in [Beside::Nothing, Beside::Others, Beside::Force] {
            for path in ["src/b", "src/new", "src/new/deep"] {
                let refused = write(folder.path(), &files(&[(path, "2")]), beside).expect_err("it leads out");
                assert!(refused.to_string().contains("`src` is a symbolic link"), "{refused}");
                untouched();
            }
        }
        // What stands in the list, and is the same behind the link, is not removed there.
        write(folder.path(), &files(&[("a", "2")]), Beside::Nothing).expect("it is as written");
        assert_eq!(text(&at("a")), "2");
        untouched();
        fs::remove_file(at("a")).expect("it is ours");
        symlink(other.path().join("b"), at("a")).expect("the folder is writable");
        assert!(write(folder.path(), &files(&[("a", "3")]), Beside::Force).is_err());
        untouched();
        fs::remove_file(at(LIST)).expect("it is ours");
        symlink(other.path().join("b"), at(LIST)).expect("the folder is writable");
        let refused = write(folder.path(), &files(&[("new", "1")]), Beside::Force).expect_err("the list is a link");
        assert!(refused.to_string().contains("no regular file"), "{refused}");
        untouched();
        // A list that became a link after it was read is replaced, and not what it leads to.
        let stage = tempfile::tempdir_in(folder.path()).expect("the folder is writable");
        put_list(folder.path(), stage.path(), &Written::new()).expect("the folder is writable");
        assert!(!at(LIST).is_symlink());
        untouched();
    }

    #[cfg(unix)]
    #[test]
    fn what_no_file_can_replace_is_told_before_anything_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("Makefile")).expect("the folder is writable");
        fs::write(at("src"), "mine").expect("the folder is writable");
        let _socket = std::os::unix::net::UnixListener::bind(at("main.c")).expect("the path is short");
        for (path, what) in [
            ("Makefile", "`Makefile` is a folder"),
            ("src/b", "`src` is a file"),
            ("src/deep/b", "`src` is a file"),
            ("main.c", "`main.c` is a pipe or a device"),
        ] {
            let refused = write(folder.path(), &files(&[("a", "1"), (path, "1")]), Beside::Force);
            let message = refused.expect_err("it is in the way").to_string();
            assert!(message.contains(what) && message.contains("nothing was written"), "{message}");
            assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 3, "{path}");
        }
    }
}
