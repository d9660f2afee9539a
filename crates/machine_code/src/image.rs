//! A compiled file as the walk sees it: bytes at addresses with all relocations applied, functions by name, and an invented
//! address for everything that it takes from elsewhere.
//!
//! Shared objects and executables keep their addresses. The sections of an object file get addresses in the order in which
//! they stand, and a slot in a table of addresses for each that its code takes from one.

use crate::Error;
use object::read::{Object as _, ObjectSection as _, ObjectSymbol as _};
use object::{RelocationFlags, RelocationTarget, SectionFlags, SectionIndex, SectionKind, SymbolIndex, elf};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Where the addresses of imports begin, within reach of a call from every address below; each takes [`IMPORT_BYTES`].
const IMPORTS: u64 = 0x6000_0000;
const IMPORT_BYTES: u64 = 16;
/// Where the sections of an object file begin, and the distance kept between them.
const FIRST_SECTION: u64 = 0x10_0000;
const GAP: u64 = 64;

/// A section in memory.
#[derive(Debug)]
struct Section {
    range: Range<u64>,
    bytes: Vec<u8>,
    writable: bool,
    stubs: bool,
}

/// A function of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name in the symbol table.
    pub name: String,
    /// Where its code lies.
    pub range: Range<u64>,
}

/// A shared object, executable or object file for x86-64.
#[derive(Debug)]
pub struct Image {
    sections: Vec<Section>,
    functions: BTreeMap<u64, Function>,
    by_name: HashMap<String, u64>,
    imports: Vec<String>,
    /// Where a pointer stands that a relocation wrote.
    pointers: BTreeSet<u64>,
    /// Sections of debug information by name, relocated.
    pub(crate) debug: HashMap<String, Vec<u8>>,
}

impl Image {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// The bytes are no such file, or it has relocations that are not understood.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let file = object::File::parse(bytes).map_err(|error| Error::File(error.to_string()))?;
        if file.architecture() != object::Architecture::X86_64 || file.format() != object::BinaryFormat::Elf {
            return Err(Error::File("not an ELF file for x86-64".into()));
        }
        let mut image = Self {
            sections: Vec::new(),
            functions: BTreeMap::new(),
            by_name: HashMap::new(),
            imports: Vec::new(),
            pointers: BTreeSet::new(),
            debug: HashMap::new(),
        };
        let mut linker = Linker { file: &file, at: HashMap::new(), imports: HashMap::new(), slots: HashMap::new() };
        image.load_sections(&mut linker)?;
        if file.kind() == object::ObjectKind::Relocatable {
            image.link(&mut linker)?;
        } else {
            image.relocate_dynamic(&mut linker);
        }
        image.find_functions(&linker);
        image.imports = linker.names();
        Ok(image)
    }

    fn load_sections(&mut self, linker: &mut Linker<'_, '_>) -> Result<(), Error> {
        let relocatable = linker.file.kind() == object::ObjectKind::Relocatable;
        let mut next = FIRST_SECTION;
        for section in linker.file.sections() {
            let name = section.name().unwrap_or_default().to_owned();
            let damaged = |error: object::Error| Error::File(format!("{name}: {error}"));
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            if name.starts_with(".debug_") {
                self.debug.insert(name.clone(), section.uncompressed_data().map_err(damaged)?.into_owned());
                continue;
            }
            if !sh_flags.contains(elf::SHF_ALLOC) || sh_flags.contains(elf::SHF_TLS) {
                continue;
            }
            let mut bytes = section.data().map_err(damaged)?.to_vec();
            let size = section.size();
            if size > 1 << 30 {
                return Err(Error::File(format!("{name} is too large")));
            }
            bytes.resize(usize::try_from(size).unwrap_or(0), 0);
            let start = if relocatable {
                let align = section.align().max(1);
                let start = next.next_multiple_of(align.min(1 << 20));
                next = start + size + GAP;
                start
            } else {
                section.address()
            };
            linker.at.insert(section.index(), start);
            // The dynamic linker writes these before anything runs, and nobody after it.
            let settled = name.starts_with(".got") || name.starts_with(".data.rel.ro");
            self.sections.push(Section {
                range: start..start + size,
                bytes,
                writable: sh_flags.contains(elf::SHF_WRITE) && !settled,
                stubs: name.starts_with(".plt"),
            });
            debug_assert!(section.kind() != SectionKind::Tls);
        }
        Ok(())
    }

    /// Applies the relocations of an object file.
    fn link(&mut self, linker: &mut Linker<'_, '_>) -> Result<(), Error> {
        let mut next = self.sections.iter().map(|section| section.range.end).max().unwrap_or(FIRST_SECTION) + GAP;
        for symbol in linker.file.symbols().filter(object::ObjectSymbol::is_common) {
            let start = next.next_multiple_of(64);
            next = start + symbol.size();
            linker.slots.insert(Slot::Common(symbol.index()), start);
            let size = usize::try_from(symbol.size().min(1 << 30)).unwrap_or(0);
            self.sections.push(Section { range: start..next, bytes: vec![0; size], writable: true, stubs: false });
        }
        let mut table = Vec::new();
        let table_start = next.next_multiple_of(64);
        for section in linker.file.sections() {
            let name = section.name().unwrap_or_default();
            let start = linker.at.get(&section.index()).copied();
            if start.is_none() && !self.debug.contains_key(name) {
                continue;
            }
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return Err(Error::File(format!("{name}: a relocation that is not understood")));
                };
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                let target = linker.address(symbol).wrapping_add_signed(relocation.addend());
                let place = start.unwrap_or(0) + offset;
                let from_table = [elf::R_X86_64_GOTPCREL, elf::R_X86_64_GOTPCRELX, elf::R_X86_64_REX_GOTPCRELX];
                let (value, size) = match r_type {
                    elf::R_X86_64_64 => (target, 8),
                    elf::R_X86_64_PC64 => (target.wrapping_sub(place), 8),
                    elf::R_X86_64_32 | elf::R_X86_64_32S => (target, 4),
                    elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => (target.wrapping_sub(place), 4),
                    kind if from_table.contains(&kind) => {
                        let slot = *linker.slots.entry(Slot::Table(symbol)).or_insert_with(|| {
                            table.push(symbol);
                            table_start + 8 * (table.len() as u64 - 1)
                        });
                        (slot.wrapping_add_signed(relocation.addend()).wrapping_sub(place), 4)
                    }
                    // What stands in it is never a constant for the walk.
                    _ if start.is_none() => continue,
                    other => return Err(Error::File(format!("{name}: relocation {other:?} is not understood"))),
                };
                let bytes = value.to_le_bytes();
                let (place, holder) = match start {
                    Some(_) => (place, self.section_mut(place)),
                    None => (offset, self.debug.get_mut(name).map(|bytes| (0, &mut bytes[..]))),
                };
                if let Some((first, holder)) = holder {
                    let at = usize::try_from(place - first).unwrap_or(usize::MAX);
                    if let Some(hole) = holder.get_mut(at..at.saturating_add(size)) {
                        hole.copy_from_slice(&bytes[..size]);
                    }
                }
                if start.is_some() && size == 8 {
                    self.pointers.insert(place);
                }
            }
        }
        let mut bytes = Vec::new();
        for (at, symbol) in table.iter().enumerate() {
            self.pointers.insert(table_start + 8 * at as u64);
            bytes.extend(linker.address(*symbol).to_le_bytes());
        }
        let range = table_start..table_start + bytes.len() as u64;
        self.sections.push(Section { range, bytes, writable: false, stubs: false });
        Ok(())
    }

    /// Applies what the dynamic linker would; what only it knows stays unknown, as an address outside of everything.
    fn relocate_dynamic(&mut self, linker: &mut Linker<'_, '_>) {
        let Some(relocations) = linker.file.dynamic_relocations() else { return };
        for (place, relocation) in relocations {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let addend = relocation.addend();
            let value = match (r_type, relocation.target()) {
                (elf::R_X86_64_RELATIVE, _) => 0u64.wrapping_add_signed(addend),
                (
                    elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT,
                    RelocationTarget::Symbol(symbol),
                ) => linker.dynamic_address(symbol).wrapping_add_signed(addend),
                _ => linker.import("a relocation of another kind"),
            };
            self.pointers.insert(place);
            if let Some((first, bytes)) = self.section_mut(place) {
                let at = usize::try_from(place - first).unwrap_or(usize::MAX);
                if let Some(hole) = bytes.get_mut(at..at.saturating_add(8)) {
                    hole.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }

    fn find_functions(&mut self, linker: &Linker<'_, '_>) {
        for symbol in linker.file.symbols().chain(linker.file.dynamic_symbols()) {
            let (Ok(name), true) = (symbol.name(), symbol.is_definition()) else { continue };
            if symbol.kind() != object::SymbolKind::Text || name.is_empty() {
                continue;
            }
            let start = linker.defined(&symbol);
            let range = start..start + symbol.size();
            self.by_name.entry(name.to_owned()).or_insert(start);
            let known =
                self.functions.entry(start).or_insert_with(|| Function { name: name.to_owned(), range: range.clone() });
            if known.range.end < range.end {
                known.range.end = range.end;
            }
        }
    }

    fn section_mut(&mut self, address: u64) -> Option<(u64, &mut [u8])> {
        let section = self.sections.iter_mut().find(|section| section.range.contains(&address))?;
        Some((section.range.start, &mut section.bytes))
    }

    fn section(&self, address: u64) -> Option<&Section> {
        self.sections.iter().find(|section| section.range.contains(&address))
    }

    /// The function of that name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(self.by_name.get(name)?)
    }

    /// All functions, by address.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.values()
    }

    /// The function that the address lies in.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<&Function> {
        let (start, function) = self.functions.range(..=address).next_back()?;
        (*start == address || function.range.contains(&address)).then_some(function)
    }

    /// Whether a jump to the address from another function is a call in its last place.
    pub(crate) fn begins_function(&self, address: u64) -> bool {
        // A compiler moves what it holds for unlikely out of a function, under a name of its own.
        let part = |function: &Function| function.name.ends_with(".cold") || function.name.contains(".cold.");
        self.functions.get(&address).is_some_and(|function| !part(function))
            || self.import(address).is_some()
            || self.section(address).is_some_and(|section| section.stubs)
    }

    /// The name of what is imported there.
    pub(crate) fn import(&self, address: u64) -> Option<&str> {
        let at = address.checked_sub(IMPORTS)? / IMPORT_BYTES;
        self.imports.get(usize::try_from(at).ok()?).map(String::as_str)
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        self.section(address).is_some()
    }

    /// The parts of sections in the `n` bytes from an address on: where in them, the bytes, and whether they are writable.
    pub(crate) fn overlapping(&self, start: u64, n: u64) -> impl Iterator<Item = (usize, &[u8], bool)> {
        let end = start.saturating_add(n);
        self.sections.iter().filter_map(move |section| {
            let (from, to) = (section.range.start.max(start), section.range.end.min(end));
            let first = usize::try_from(from.checked_sub(section.range.start)?).ok()?;
            let bytes = section.bytes.get(first..first + usize::try_from(to.checked_sub(from)?).ok()?)?;
            Some((usize::try_from(from - start).ok()?, bytes, section.writable))
        })
    }

    /// Where pointers stand between two addresses.
    pub(crate) fn pointers_between(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        self.pointers.range(start..end).copied()
    }

    /// The bytes from an address to the end of its section.
    pub(crate) fn bytes(&self, address: u64) -> &[u8] {
        self.section(address)
            .and_then(|section| section.bytes.get(usize::try_from(address - section.range.start).ok()?..))
            .unwrap_or_default()
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Slot {
    Table(SymbolIndex),
    Common(SymbolIndex),
}

/// Addresses of symbols while a file is read.
struct Linker<'data, 'file> {
    file: &'file object::File<'data>,
    at: HashMap<SectionIndex, u64>,
    imports: HashMap<String, u64>,
    slots: HashMap<Slot, u64>,
}

impl Linker<'_, '_> {
    fn import(&mut self, name: &str) -> u64 {
        let next = IMPORTS + IMPORT_BYTES * self.imports.len() as u64;
        *self.imports.entry(name.to_owned()).or_insert(next)
    }

    fn names(self) -> Vec<String> {
        let mut names: Vec<_> = self.imports.into_iter().collect();
        names.sort_by_key(|(_, address)| *address);
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// Where a symbol lies that the file defines. Symbols of an object file count from their section.
    fn defined<'a>(&self, symbol: &impl object::ObjectSymbol<'a>) -> u64 {
        let base = match (self.file.kind(), symbol.section_index()) {
            (object::ObjectKind::Relocatable, Some(section)) => self.at.get(&section).copied().unwrap_or(0),
            _ => 0,
        };
        base + symbol.address()
    }

    fn address(&mut self, index: SymbolIndex) -> u64 {
        if let Some(common) = self.slots.get(&Slot::Common(index)) {
            return *common;
        }
        let Ok(symbol) = self.file.symbol_by_index(index) else { return self.import("an unknown symbol") };
        if symbol.is_undefined() {
            return self.import(symbol.name().unwrap_or_default());
        }
        self.defined(&symbol)
    }

    fn dynamic_address(&mut self, index: SymbolIndex) -> u64 {
        let symbol = self.file.dynamic_symbol_table().and_then(|table| {
            use object::read::ObjectSymbolTable as _;
            table.symbol_by_index(index).ok()
        });
        match symbol {
            Some(symbol) if symbol.is_definition() && symbol.address() != 0 => symbol.address(),
            Some(symbol) => self.import(symbol.name().unwrap_or_default()),
            None => self.import("an unknown symbol"),
        }
    }
}
