//! The world outside a program, as its natives see it.

/// What natives may do. The driver gives files and the terminal; tests give memory.
pub trait Host {
    /// Text or bytes that actors print; goes to standard output exactly.
    fn print(&mut self, bytes: &[u8]);

    /// The whole input file of `std.stdio.Source`, if the user named one.
    fn source(&mut self) -> Result<&[u8], String>;

    /// How many times the program is to go through the input file; 0 for without end.
    fn source_loops(&self) -> u32 {
        1
    }

    /// A byte for the output file of `std.stdio.Writer`.
    fn writer_write(&mut self, byte: u8) -> Result<(), String>;

    /// The whole golden file of `std.util.Compare`, if the user named one.
    fn golden(&mut self) -> Result<&[u8], String>;

    /// A difference from the golden file, or another thing the user should hear of; goes to standard error.
    fn complain(&mut self, message: &str);
}

/// A host in memory.
#[derive(Debug, Default)]
pub struct CollectingHost {
    /// What was printed.
    pub printed: Vec<u8>,
    /// The input file.
    pub source: Vec<u8>,
    /// The output file.
    pub written: Vec<u8>,
    /// The golden file.
    pub golden: Vec<u8>,
    /// Complaints.
    pub complaints: Vec<String>,
}

impl Host for CollectingHost {
    fn print(&mut self, bytes: &[u8]) {
        self.printed.extend_from_slice(bytes);
    }

    fn source(&mut self) -> Result<&[u8], String> {
        Ok(&self.source)
    }

    fn writer_write(&mut self, byte: u8) -> Result<(), String> {
        self.written.push(byte);
        Ok(())
    }

    fn golden(&mut self) -> Result<&[u8], String> {
        Ok(&self.golden)
    }

    fn complain(&mut self, message: &str) {
        self.complaints.push(message.to_owned());
    }
}
