//! Texts as tokens: each different text is kept once, for the life of the process, and a token is its number.
//!
//! Tokens cross the boundary of an engine as numbers of eight bytes, and engines that hold pointers turn them into those
//! of the kept texts. Since nobody can tell when the last token of a text is gone, texts stay, and how much they may take
//! is bounded.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Most bytes of one text.
pub const MAX_TEXT_BYTES: usize = 1 << 16;

/// Most bytes of all different texts that are tokens in a process.
pub const MAX_TEXTS_BYTES: usize = 1 << 28;

/// Bytes that a text takes beside itself.
const OVERHEAD: usize = 64;

#[derive(Default)]
struct Texts {
    numbers: HashMap<&'static CStr, u64>,
    /// By number, from 1 on; 0 is the empty text.
    texts: Vec<&'static CStr>,
    bytes: usize,
}

static TEXTS: LazyLock<Mutex<Texts>> = LazyLock::new(Mutex::default);

fn texts() -> MutexGuard<'static, Texts> {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a text.
///
/// # Errors
/// The text is too long, holds a zero byte, or there are too many: for the user to read.
pub fn number_of(text: &[u8]) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("a token of type String has at most {MAX_TEXT_BYTES} bytes, not {}", text.len()));
    }
    let text = CString::new(text).map_err(|_| "a token of type String has no zero bytes".to_owned())?;
    let mut texts = texts();
    if let Some(&number) = texts.numbers.get(text.as_c_str()) {
        return Ok(number);
    }
    let bytes = texts.bytes + text.as_bytes().len() + OVERHEAD;
    if bytes > MAX_TEXTS_BYTES {
        return Err(format!("different tokens of type String take more than {} MiB", MAX_TEXTS_BYTES >> 20));
    }
    // A text that is refused takes nothing from those that come later.
    texts.bytes = bytes;
    let kept: &'static CStr = Box::leak(text.into_boxed_c_str());
    texts.texts.push(kept);
    let number = texts.texts.len() as u64;
    texts.numbers.insert(kept, number);
    Ok(number)
}

/// The text of a number; empty for one that was never given.
pub fn text_of(number: u64) -> &'static CStr {
    let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    at.and_then(|at| texts().texts.get(at).copied()).unwrap_or(c"")
}

/// Turns stored tokens into the addresses of their texts, which end with a zero byte and stay for ever.
pub fn to_pointers(tokens: &mut [u8]) {
    for token in tokens.chunks_exact_mut(8) {
        let number = token.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        token.copy_from_slice(&(text_of(number).as_ptr() as usize as u64).to_le_bytes());
    }
}

/// Turns addresses of texts into stored tokens; text that is too much is cut off.
///
/// # Safety
/// Each eight bytes are zero or the address of a text that ends with a zero byte.
pub unsafe fn from_pointers(tokens: &mut [u8]) {
    for token in tokens.chunks_exact_mut(8) {
        let address = token.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte)) as usize;
        let number = if address == 0 {
            0
        } else {
            // SAFETY: the caller says so.
            let text = unsafe { CStr::from_ptr(address as *const c_char) }.to_bytes();
            number_of(&text[..text.len().min(MAX_TEXT_BYTES)]).unwrap_or(0)
        };
        token.copy_from_slice(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TEXT_BYTES, from_pointers, number_of, text_of, to_pointers};

    #[test]
    fn equal_texts_have_equal_numbers() {
        let number = number_of("grün".as_bytes()).expect("it is short");
        assert_eq!(number_of("grün".as_bytes()), Ok(number));
        assert_ne!(number_of(b"blau"), Ok(number));
        assert_eq!(text_of(number).to_str(), Ok("grün"));
        assert_eq!((number_of(b""), text_of(0).to_bytes()), (Ok(0), &b""[..]));
        assert!(text_of(u64::MAX).is_empty());
        assert!(number_of(b"a\0b").is_err() && number_of(&vec![b'x'; MAX_TEXT_BYTES + 1]).is_err());
    }

    #[test]
    fn pointers_and_back() {
        let numbers = [number_of(b"one"), number_of(b""), number_of(b"two")].map(|one| one.expect("it is short"));
        let stored: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut tokens = stored.clone();
        to_pointers(&mut tokens);
        assert_ne!(tokens, stored);
        // SAFETY: the addresses are those of kept texts.
        unsafe { from_pointers(&mut tokens) };
        assert_eq!(tokens, stored);
    }
}
