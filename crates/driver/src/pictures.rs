//! Pictures that programs show, written as raw planes (.yuv) or as YUV4MPEG2 (.y4m, which players and ffmpeg open as it is).

use crate::failure::Outcome;
use crate::output::Output;
use headrace::Error;
use headrace_engine::{Layout, Picture};
use std::path::Path;

/// Bytes that are kept until they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// A file of pictures.
#[derive(Debug)]
pub struct Pictures {
    output: Output,
    buffer: Vec<u8>,
    /// Of a Y4M file: size and layout of all pictures, once there was one.
    form: Option<Form>,
    is_y4m: bool,
}

/// What pictures of one Y4M file have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    width: usize,
    height: usize,
    layout: Layout,
}

impl Pictures {
    /// Creates the file; its ending says what it is.
    pub fn create(path: &Path) -> Outcome<Self> {
        let is_y4m = match path.extension().and_then(|ending| ending.to_str()) {
            Some("y4m") => true,
            Some("yuv") => false,
            _ => return Err(Error::usage("--video: the file must end in .yuv (planes only) or .y4m (YUV4MPEG2)")),
        };
        Ok(Self { output: Output::create(path)?, buffer: Vec::new(), form: None, is_y4m })
    }

    /// Adds a picture.
    pub fn add(&mut self, picture: &Picture<'_>) -> Result<(), String> {
        if self.is_y4m {
            self.begin(picture)?;
        }
        if self.is_y4m && picture.layout == Layout::Rgb {
            self.add_rgb(picture.planes);
        } else {
            picture.planes.iter().for_each(|plane| self.buffer.extend_from_slice(plane));
        }
        if self.buffer.len() >= BUFFER_BYTES { self.pass_on().map_err(|error| error.to_string()) } else { Ok(()) }
    }

    /// The head of the file, and of the picture.
    fn begin(&mut self, picture: &Picture<'_>) -> Result<(), String> {
        let form = Form { width: picture.width, height: picture.height, layout: picture.layout };
        match self.form {
            None => {
                let Form { width, height, layout } = form;
                let colours = match layout {
                    Layout::Yuv420 => "420jpeg",
                    Layout::Yuv444 | Layout::Rgb => "444",
                    Layout::Gray => "mono",
                };
                let head = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C{colours}\n");
                self.buffer.extend_from_slice(head.as_bytes());
                self.form = Some(form);
            }
            Some(first) if first != form => {
                return Err(format!(
                    "pictures of {}x{} and of {}x{} do not go into one Y4M file; --video FILE.yuv takes both",
                    first.width, first.height, form.width, form.height
                ));
            }
            Some(_) => {}
        }
        self.buffer.extend_from_slice(b"FRAME\n");
        Ok(())
    }

    /// Y4M has no red, green and blue: luma and chroma of ITU-R BT.601 in studio range, rounded.
    fn add_rgb(&mut self, [red, green, blue]: [&[u8]; 3]) {
        for [r, g, b, offset] in [[66, 129, 25, 16], [-38, -74, 112, 128], [112, -94, -18, 128]] {
            let pixels = red.iter().zip(green).zip(blue);
            self.buffer.extend(pixels.map(|((&red, &green), &blue)| {
                let sum = r * i32::from(red) + g * i32::from(green) + b * i32::from(blue);
                (((sum + 128) >> 8) + offset).clamp(0, 255) as u8
            }));
        }
    }

    fn pass_on(&mut self) -> Outcome {
        self.output.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the file appear.
    pub fn finish(mut self) -> Outcome {
        self.pass_on()?;
        self.output.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture<'a>(layout: Layout, planes: [&'a [u8]; 3]) -> Picture<'a> {
        Picture { width: 2, height: 2, layout, planes }
    }

    #[test]
    fn a_y4m_file_has_one_head_and_one_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.y4m");
        let mut pictures = Pictures::create(&path).unwrap();
        let shown = picture(Layout::Yuv420, [&[1, 2, 3, 4], &[5], &[6]]);
        pictures.add(&shown).unwrap();
        pictures.add(&shown).unwrap();
        assert!(pictures.add(&Picture { width: 4, height: 1, ..shown }).unwrap_err().contains("4x1"));
        pictures.finish().unwrap();
        let frame = b"FRAME\n\x01\x02\x03\x04\x05\x06";
        let whole = [&b"YUV4MPEG2 W2 H2 F25:1 Ip A1:1 C420jpeg\n"[..], frame, frame].concat();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn colours_become_luma_and_chroma() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.y4m");
        let mut pictures = Pictures::create(&path).unwrap();
        pictures.add(&picture(Layout::Rgb, [&[0, 255, 255, 0], &[0, 255, 0, 0], &[0, 255, 0, 255]])).unwrap();
        pictures.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        // Black, white, red, blue as BT.601 has them.
        assert!(bytes.ends_with(&[16, 235, 82, 41, 128, 128, 90, 240, 128, 128, 240, 110]), "{bytes:?}");
    }

    #[test]
    fn the_ending_says_what_a_file_is() {
        assert!(Pictures::create(Path::new("out.avi")).unwrap_err().to_string().contains(".y4m"));
    }
}
