//! The host interface: the world outside a program, as its natives see it.

/// An argument of a native procedure, or what a native function gives.
#[derive(Debug, PartialEq)]
pub enum Argument<'a> {
    /// An integer of up to 64 bits, sign- or zero-extended by its type, or a boolean, 0 or 1.
    Scalar(i64),
    /// A real of any format.
    Real(f64),
    /// A string.
    Text(String),
    /// A list of anything but strings, of any dimensions: its elements row by row as C lays them out on this machine. Integers
    /// take 1, 2, 4 or 8 bytes, booleans 1, `half` its bit pattern in 2. What is left here is stored back.
    Bytes(&'a mut [u8]),
    /// A list of strings. What is left here is stored back.
    Texts(&'a mut [String]),
}

/// How the planes of a picture make up its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Luma, and two planes of chroma of half the width and half the height, rounded up.
    Yuv420,
    /// Luma and two planes of chroma of its size.
    Yuv444,
    /// Luma alone.
    Gray,
    /// Red, green and blue.
    Rgb,
}

impl Layout {
    /// How many planes there are, of 3.
    pub fn n_planes(self) -> usize {
        if self == Layout::Gray { 1 } else { 3 }
    }

    /// Width and height of a plane of a picture of this width and height.
    pub fn plane(self, plane: usize, width: usize, height: usize) -> (usize, usize) {
        if self == Layout::Yuv420 && plane > 0 { (width.div_ceil(2), height.div_ceil(2)) } else { (width, height) }
    }
}

/// A picture that a program shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture<'a> {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What the planes are.
    pub layout: Layout,
    /// A byte a sample, row by row, without gaps; planes that the layout does not have are empty.
    pub planes: [&'a [u8]; 3],
}

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

    /// Whether there is an output file of `std.stdio.Writer`.
    fn has_writer(&self) -> bool {
        true
    }

    /// A byte for the output file of `std.stdio.Writer`.
    fn writer_write(&mut self, byte: u8) -> Result<(), String>;

    /// The whole golden file of `std.util.Compare`, if the user named one.
    fn golden(&mut self) -> Result<&[u8], String>;

    /// Shows a picture: the driver writes it where the user wants it.
    fn picture(&mut self, _: &Picture<'_>) -> Result<(), String> {
        Ok(())
    }

    /// How many pictures a program is to show before it ends; `None`: all.
    fn n_pictures(&self) -> Option<u32> {
        None
    }

    /// Hears that a native of the user is called, which may print by itself: what was printed before should be seen before.
    fn before_supplied(&mut self) {}

    /// Calls a native that the user supplies, by its bare name, and gives what it gives; a procedure gives 0.
    ///
    /// # Errors
    ///
    /// Nobody supplies it.
    fn call_supplied(&mut self, name: &str, _: &mut [Argument<'_>]) -> Result<Argument<'static>, String> {
        Err(format!("nobody supplies the native `{name}`"))
    }

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
    /// Pictures that were shown: width, height, and all planes one after the other.
    pub pictures: Vec<(usize, usize, Vec<u8>)>,
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

    fn picture(&mut self, picture: &Picture<'_>) -> Result<(), String> {
        self.pictures.push((picture.width, picture.height, picture.planes.concat()));
        Ok(())
    }

    fn complain(&mut self, message: &str) {
        self.complaints.push(message.to_owned());
    }
}
