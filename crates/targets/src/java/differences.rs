//! What the README of a project says of its services beside those of the same names in the JDK. The table is what the
//! model-based test (`tests/models/java`) compares by, too.

use super::provider::{Kind, Service};
use headrace_library::manifest::Shape;
use std::fmt::Write as _;

/// Lines of a name, services, versions of the JDK and a sentence, with bars between them.
const TABLE: &str = include_str!("../../../../runtime/java/differences.txt");

struct Line {
    services: &'static str,
    sentence: &'static str,
}

/// What is no line of its own stands behind `#`.
fn lines() -> impl Iterator<Item = Line> {
    TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).filter_map(|line| {
        let mut parts = line.splitn(4, '|').map(str::trim);
        let (_name, services, _versions) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Line { services, sentence: parts.next()? })
    })
}

/// The type of a service, and behind it classes of parameters of ciphers, if not any; `blocks` are modes of block ciphers,
/// `streams` are key streams whose parameters are none or any.
fn applies(services: &str, service: &Service<'_>) -> bool {
    let mut words = services.split(' ');
    let of_type = words.next() == Some(service.kind.name());
    let mut classes = words.peekable();
    let any = if service.spec.shape == Shape::BlockCipher { "blocks" } else { "streams" };
    let own = service.spec.jca.parameters.as_deref().unwrap_or(any);
    of_type && (classes.peek().is_none() || classes.any(|class| class == own))
}

/// The paragraphs about what programs may rely on.
pub(super) fn readme(services: &[Service<'_>]) -> String {
    let has = |kind: Kind| services.iter().any(|service| service.kind == kind);
    let takes = |class: &str| services.iter().any(|service| service.spec.jca.parameters.as_deref() == Some(class));
    let mut text = String::from(
        "They do what the documentation of the JCA says, and, call by call, what services of the same name do that the JDK has: a \
         call that\nfails leaves an object as it was, so that it can be repeated with more room; what is not authentic or wrongly \
         padded ends its\nmessage. Keys come from the JDK's `KeyGenerator` and `SecretKeyFactory`, parameters from its \
         `AlgorithmParameters`.\n\n",
    );
    let mut own = |sentence: &str| {
        let _ = writeln!(text, "* {sentence}");
    };
    if has(Kind::Cipher) {
        own(
            "Keys of other lengths than those of the parameter set are an `InvalidKeyException`: another provider may take them.",
        );
    }
    if services.iter().any(|service| service.inverse.verifies && service.kind == Kind::Cipher) {
        own("What is decrypted and verified by a tag is kept until the message ends.");
    }
    if takes("GCMParameterSpec") {
        own("Tags of 96 to 120 bits are verified by making them anew: such a message takes twice as long to decrypt.");
    }
    if takes("ChaCha20ParameterSpec") {
        own(
            "A key stream that begins behind block 65,536 is refused, so that another provider gives it; no message goes on behind \
             block 4,294,967,295.",
        );
    }
    for line in lines().filter(|line| services.iter().any(|service| applies(line.services, service))) {
        own(line.sentence);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::{TABLE, lines};

    #[test]
    fn every_line_of_the_table_is_read() {
        let written = TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count();
        assert_eq!(lines().count(), written);
        assert!(lines().all(|line| line.sentence.ends_with('.') && !line.services.is_empty()));
    }
}
