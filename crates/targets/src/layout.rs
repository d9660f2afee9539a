//! Where the fields of records lie, for targets that address memory by numbers of bytes: every field at a multiple of its
//! own size, as C lays structures out where integers of 64 bits are aligned to 8 bytes.

use headrace_program::{FieldType, Module, RecordId, Type};

/// Where the fields of a record lie, in bytes from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordLayout {
    /// Where each field begins.
    pub(crate) offsets: Vec<u32>,
    /// Bytes of the whole, a multiple of the alignment.
    pub(crate) bytes: u32,
    /// Alignment of the whole.
    pub(crate) alignment: u32,
}

/// The layouts of all records of a module.
#[derive(Clone, Debug)]
pub(crate) struct Layouts(Vec<RecordLayout>);

impl Layouts {
    pub(crate) fn of(module: &Module) -> Self {
        let mut layouts = Layouts(Vec::new());
        for record in &module.records {
            let mut layout = RecordLayout { offsets: Vec::new(), bytes: 0, alignment: 1 };
            for field in &record.fields {
                let (bytes, alignment) = layouts.size(field.ty);
                let at = layout.bytes.next_multiple_of(alignment);
                layout.offsets.push(at);
                layout.bytes = at + bytes;
                layout.alignment = layout.alignment.max(alignment);
            }
            layout.bytes = layout.bytes.next_multiple_of(layout.alignment);
            layouts.0.push(layout);
        }
        layouts
    }

    /// The layout of a record.
    pub(crate) fn record(&self, id: RecordId) -> &RecordLayout {
        &self.0[id.index()]
    }

    /// Bytes and alignment of a field.
    pub(crate) fn size(&self, ty: FieldType) -> (u32, u32) {
        match ty {
            FieldType::Scalar(ty) => (ty.bytes(), ty.bytes()),
            FieldType::Array(ty, len) => (array_bytes(ty, len), ty.bytes()),
            FieldType::Record(id) => (self.record(id).bytes, self.record(id).alignment),
        }
    }
}

/// Bytes of an array.
pub(crate) fn array_bytes(element: Type, len: u32) -> u32 {
    element.bytes() * len
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_program::{Field, FunctionId, Interface, Record};

    #[test]
    fn fields_lie_at_multiples_of_their_size() {
        let field = |ty: FieldType| Field { name: String::new(), ty, about: String::new() };
        let record = |fields: &[FieldType]| Record {
            name: String::new(),
            about: String::new(),
            fields: fields.iter().map(|&ty| field(ty)).collect(),
        };
        let small = record(&[FieldType::Scalar(Type::Bool), FieldType::Scalar(Type::U32)]);
        let large = record(&[
            FieldType::Array(Type::U8, 3),
            FieldType::Record(RecordId(0)),
            FieldType::Scalar(Type::I64),
            FieldType::Scalar(Type::U8),
        ]);
        let interface = Interface {
            context: RecordId(1),
            init: FunctionId(0),
            run: FunctionId(0),
            lacks_room: FunctionId(0),
            inputs: Vec::new(),
            outputs: Vec::new(),
            streams: Vec::new(),
        };
        let module = Module {
            name: String::new(),
            records: vec![small, large],
            tables: Vec::new(),
            texts: Vec::new(),
            natives: Vec::new(),
            features: Vec::new(),
            instructions: Vec::new(),
            functions: Vec::new(),
            interface,
        };
        let layouts = Layouts::of(&module);
        assert_eq!(*layouts.record(RecordId(0)), RecordLayout { offsets: vec![0, 4], bytes: 8, alignment: 4 });
        assert_eq!(*layouts.record(RecordId(1)), RecordLayout { offsets: vec![0, 4, 16, 24], bytes: 32, alignment: 8 });
    }
}
