//! What debug information tells: source lines of instructions, and where the fields of structs lie.

use crate::Error;
use crate::finding::Source;
use crate::image::Image;
use gimli::{AttributeValue, DebuggingInformationEntry, EndianSlice, LittleEndian, Unit, UnitOffset};
use std::ops::Range;

type Reader<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

fn dwarf(image: &Image) -> gimli::Dwarf<Reader<'_>> {
    let section = |id: gimli::SectionId| {
        EndianSlice::new(image.debug.get(id.name()).map_or(&[][..], Vec::as_slice), LittleEndian)
    };
    let loaded: Result<_, std::convert::Infallible> = gimli::Dwarf::load(|id| Ok(section(id)));
    match loaded {
        Ok(dwarf) => dwarf,
    }
}

/// Looks up where instructions come from.
pub(crate) struct Lines<'a> {
    context: Option<addr2line::Context<Reader<'a>>>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(image: &'a Image) -> Self {
        let context = if image.debug.is_empty() { None } else { addr2line::Context::from_dwarf(dwarf(image)).ok() };
        Self { context }
    }

    /// The place in the source and, where it was inlined, those that call it.
    pub(crate) fn of(&self, address: u64) -> Vec<Source> {
        let Some(context) = &self.context else { return Vec::new() };
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut sources = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let Some((file, line)) = frame.location.and_then(|place| Some((place.file?, place.line?))) else {
                continue;
            };
            let function = frame.function.and_then(|function| function.raw_name().ok().map(|name| name.into_owned()));
            sources.push(Source { file: file.to_owned(), line, function });
        }
        sources
    }
}

/// Where in a struct the bytes lie that a path means: names joined by points, `*` for any field, `[3]` for an element and `[]`
/// for all elements of an array. A name alone is the whole field.
///
/// # Errors
/// The file has no debug information of the struct, or the path leads nowhere.
pub(crate) fn field(image: &Image, structure: &str, path: &str) -> Result<Vec<Range<u64>>, Error> {
    let lost = |error: gimli::Error| Error::Debug(error.to_string());
    let dwarf = dwarf(image);
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(lost)? {
        let unit = dwarf.unit(header).map_err(lost)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().map_err(lost)? {
            let is_type = matches!(entry.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_typedef);
            if !is_type || entry.attr_value(gimli::DW_AT_declaration).is_some() {
                continue;
            }
            if name(&dwarf, &unit, entry).as_deref() == Some(structure) {
                let structures = Structures { dwarf: &dwarf, unit: &unit };
                let mut found = Vec::new();
                structures.follow(entry.offset(), 0, path, &mut found)?;
                if found.is_empty() {
                    return Err(Error::Debug(format!("{structure} has no field {path}")));
                }
                return Ok(found);
            }
        }
    }
    Err(Error::Debug(format!("there is no debug information of a struct {structure}")))
}

fn name(dwarf: &gimli::Dwarf<Reader<'_>>, unit: &Unit<Reader<'_>>, entry: &Entry<'_>) -> Option<String> {
    let value = entry.attr_value(gimli::DW_AT_name)?;
    Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned())
}

/// Types of one unit.
struct Structures<'a, 'd> {
    dwarf: &'a gimli::Dwarf<Reader<'d>>,
    unit: &'a Unit<Reader<'d>>,
}

impl<'d> Structures<'_, 'd> {
    fn entry(&self, offset: UnitOffset) -> Result<Entry<'d>, Error> {
        self.unit.entry(offset).map_err(|error| Error::Debug(error.to_string()))
    }

    fn children(&self, offset: UnitOffset) -> Result<Vec<Entry<'d>>, Error> {
        let lost = |error: gimli::Error| Error::Debug(error.to_string());
        let mut tree = self.unit.entries_tree(Some(offset)).map_err(lost)?;
        let mut children = tree.root().map_err(lost)?.children();
        let mut all = Vec::new();
        while let Some(child) = children.next().map_err(lost)? {
            all.push(child.entry().clone());
        }
        Ok(all)
    }

    fn type_of(entry: &Entry<'_>) -> Option<UnitOffset> {
        match entry.attr_value(gimli::DW_AT_type)? {
            AttributeValue::UnitRef(offset) => Some(offset),
            _ => None,
        }
    }

    /// The type itself, behind its other names.
    fn strip(&self, mut offset: UnitOffset) -> Result<Entry<'d>, Error> {
        for _ in 0..64 {
            let entry = self.entry(offset)?;
            let another =
                matches!(entry.tag(), gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type);
            match Self::type_of(&entry) {
                Some(next) if another => offset = next,
                _ => return Ok(entry),
            }
        }
        Err(Error::Debug("types that name each other".into()))
    }

    /// Bytes of a type.
    fn size(&self, offset: UnitOffset) -> Result<u64, Error> {
        let entry = self.strip(offset)?;
        if entry.tag() == gimli::DW_TAG_array_type {
            let element = Self::type_of(&entry).ok_or_else(|| Error::Debug("an array of nothing".into()))?;
            return Ok(self.elements(&entry)? * self.size(element)?);
        }
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|value| value.udata_value());
        Ok(size.unwrap_or(if entry.tag() == gimli::DW_TAG_pointer_type { 8 } else { 0 }))
    }

    /// Elements of an array, over all dimensions.
    fn elements(&self, array: &Entry<'d>) -> Result<u64, Error> {
        let mut product = 1;
        for dimension in self.children(array.offset())? {
            let number = |at| dimension.attr_value(at).and_then(|value| value.udata_value());
            product *=
                number(gimli::DW_AT_count).or(number(gimli::DW_AT_upper_bound).map(|last| last + 1)).unwrap_or(0);
        }
        Ok(product)
    }

    fn follow(&self, ty: UnitOffset, at: u64, path: &str, found: &mut Vec<Range<u64>>) -> Result<(), Error> {
        if path.is_empty() {
            found.push(at..at + self.size(ty)?);
            return Ok(());
        }
        let entry = self.strip(ty)?;
        if let Some(rest) = path.strip_prefix('[') {
            let wrong = || Error::Debug(format!("`{path}` is no element of an array"));
            let (index, rest) = rest.split_once(']').ok_or_else(wrong)?;
            if entry.tag() != gimli::DW_TAG_array_type {
                return Err(wrong());
            }
            let element = Self::type_of(&entry).ok_or_else(wrong)?;
            let (size, n_elements) = (self.size(element)?, self.elements(&entry)?);
            let chosen = match index {
                "" => 0..n_elements,
                _ => index.parse().map(|index: u64| index..(index + 1).min(n_elements)).map_err(|_| wrong())?,
            };
            for index in chosen {
                self.follow(element, at + index * size, rest.trim_start_matches('.'), found)?;
            }
            return Ok(());
        }
        if !matches!(entry.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type) {
            return Ok(());
        }
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (wanted, rest) = path.split_at(end);
        for member in self.children(entry.offset())? {
            let (Some(ty), true) = (Self::type_of(&member), member.tag() == gimli::DW_TAG_member) else { continue };
            let place = member.attr_value(gimli::DW_AT_data_member_location).and_then(|value| value.udata_value());
            if wanted == "*" || name(self.dwarf, self.unit, &member).as_deref() == Some(wanted) {
                // With `*`, fields that the rest of the path does not fit are left out.
                match self.follow(ty, at + place.unwrap_or(0), rest.trim_start_matches('.'), found) {
                    Err(_) if wanted == "*" => {}
                    done => done?,
                }
            }
        }
        Ok(())
    }
}
