//! Reading whole files without exhausting memory, whatever the path names.

use crate::error::describe;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of what is no regular file: it may have no end.
const MAX_STREAM_BYTES: u64 = 1 << 26;

/// All bytes of a file that has at most `limit`. The message names the file.
pub fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| format!("`{}`: {}", path.display(), describe(&error));
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(format!("`{}` is a folder", path.display()));
    }
    let too_large = |limit: u64| format!("`{}` is larger than such a file can be ({limit} bytes)", path.display());
    if metadata.len() > limit {
        return Err(too_large(limit));
    }
    let limit = if metadata.is_file() { limit } else { limit.min(MAX_STREAM_BYTES) };
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_files_folders_and_missing_ones_are_refused() {
        #[cfg(unix)]
        assert!(read_at_most(Path::new("/dev/zero"), 1000).is_err_and(|message| message.contains("larger")));
        assert!(read_at_most(Path::new("."), 1000).is_err_and(|message| message.contains("folder")));
        assert!(read_at_most(Path::new("no/such"), 1000).is_err_and(|message| message.contains("No such file")));
        let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        std::fs::write(file.path(), b"12345").expect("the disk has room");
        assert_eq!(read_at_most(file.path(), 5).as_deref(), Ok(&b"12345"[..]));
        assert!(read_at_most(file.path(), 4).is_err());
    }
}
