//! The classes that come with printed ones, from `runtime/java`: name of the file, text.

macro_rules! runtime {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../runtime/java/", $name)))),*]
    };
}

/// What networks need.
pub(super) const OF_NETWORKS: [(&str, &str); 4] = runtime!["Host.java", "Status.java", "Tables.java", "Words.java"];
/// What operations need beside it.
pub(super) const OF_OPERATIONS: [(&str, &str); 16] = runtime![
    "CipherKind.java",
    "CipherMessage.java",
    "CipherService.java",
    "DigestService.java",
    "Flow.java",
    "Keys.java",
    "MacService.java",
    "MessageException.java",
    "Network.java",
    "OpenMessage.java",
    "Operation.java",
    "RandomService.java",
    "Room.java",
    "Secrets.java",
    "Services.java",
    "Span.java",
];
/// What the tests of networks need.
pub(super) const OF_RECORDINGS: [(&str, &str); 1] = runtime!["test/Streams.java"];
/// What those of operations need beside it.
pub(super) const OF_KNOWN_ANSWERS: [(&str, &str); 3] =
    runtime!["test/Answer.java", "test/Made.java", "test/Services.java"];

/// A class of the run time has this name, so that no operation takes it.
pub(super) fn has_class(name: &str) -> bool {
    OF_NETWORKS.iter().chain(&OF_OPERATIONS).any(|(file, _)| file.strip_suffix(".java") == Some(name))
}
