//! Functions, procedures and natives. Each is lowered once for every shape of its list arguments.

use crate::body::{Binding, Body};
use crate::builder::Builder;
use crate::members::Member;
use crate::session::EntityId;
use crate::types::Ty;
use headrace_ir as ir;
use headrace_ir::{LocalKind, ProcedureId};
use headrace_source::Span;
use std::rc::Rc;

/// A function or procedure and the sizes of its list arguments.
pub(crate) type ProcedureKey = (EntityId, Member, Vec<Vec<u32>>);

/// A function or procedure as it is lowered.
pub(crate) struct ProcedureSlot {
    pub name: String,
    pub ir: Option<ir::Procedure>,
    pub in_progress: bool,
    /// It depends on something unknown or wrong.
    pub tainted: bool,
    /// A constant that it uses and whose value is not what was written.
    pub changed: Option<crate::fits::Changed>,
    pub span: Span,
}

/// What a call has to know.
pub(crate) struct Signature {
    pub name: String,
    pub params: Vec<Ty>,
    pub param_names: Vec<String>,
    pub result: Option<Ty>,
    pub native: bool,
    /// Reaches a native: calls are statements.
    pub impure: bool,
    pub span: Span,
}

impl Builder<'_> {
    /// The signature of a function or procedure.
    pub fn signature(&mut self, entity: EntityId, member: Member) -> Rc<Signature> {
        if let Some(signature) = self.signatures.get(&(entity, member)) {
            return signature.clone();
        }
        let file = self.file(entity);
        let (name, params, result, native) = match member {
            Member::Function(at) => {
                let function = &file.functions()[at as usize];
                (&function.name, &function.params, Some(&function.result), function.body.is_none())
            }
            Member::Procedure(at) => {
                let procedure = &file.procedures()[at as usize];
                (&procedure.name, &procedure.params, None, procedure.body.is_none())
            }
            _ => {
                return Rc::new(Signature {
                    name: String::new(),
                    params: Vec::new(),
                    param_names: Vec::new(),
                    result: None,
                    native: false,
                    impure: false,
                    span: Span::default(),
                });
            }
        };
        let (param_types, result) = self.in_body(Body::constant(entity), |this| {
            let params: Vec<Ty> = params.iter().map(|param| this.decl_type(param)).collect();
            (params, result.map(|result| this.ast_type(result)))
        });
        let impure = self.effects.reaches_native(self.session, self.provider, (entity, member));
        let signature = Rc::new(Signature {
            name: name.text.to_string(),
            params: param_types,
            param_names: params.iter().map(|param| param.name.text.to_string()).collect(),
            result,
            native,
            impure,
            span: name.span,
        });
        self.signatures.insert((entity, member), signature.clone());
        signature
    }

    pub fn native(
        &mut self,
        entity: EntityId,
        member: Member,
        signature: &Signature,
        shapes: Vec<Vec<u32>>,
    ) -> ir::NativeId {
        let key = (entity, member, shapes);
        if let Some(&id) = self.native_ids.get(&key) {
            return id;
        }
        let mut parameters = Vec::with_capacity(signature.params.len());
        let mut next_shape = key.2.iter();
        for ty in &signature.params {
            let mut ty = self.ir_type(ty);
            if ty.is_list()
                && let Some(dims) = next_shape.next()
            {
                ty.dims = dims.iter().map(|&size| size.max(1)).collect();
            }
            parameters.push(ty);
        }
        let result = match &signature.result {
            Some(ty) if ty.is_list() => {
                let ty = self.ir_type(ty);
                parameters.push(ty);
                None
            }
            Some(ty) => Some(self.ir_type(ty).element),
            None => None,
        };
        let id = ir::NativeId(self.natives.len() as u32);
        let name = format!("{}.{}", self.file(entity).name, signature.name);
        self.natives.push(ir::Native { name, parameters, result, span: signature.span });
        self.native_ids.insert(key, id);
        id
    }

    /// The function or procedure for arguments of the given shapes, lowered at the first time.
    pub fn procedure(
        &mut self,
        entity: EntityId,
        member: Member,
        shapes: Vec<Vec<u32>>,
        used_at: Span,
    ) -> Option<ProcedureId> {
        let key = (entity, member, shapes);
        if let Some(&id) = self.procedure_ids.get(&key) {
            let slot = &self.procedures[id.index()];
            if slot.tainted {
                self.taint += 1;
            }
            if let Some(changed) = &slot.changed {
                self.used_changed = Some(changed.clone());
            }
            return Some(id);
        }
        let signature = self.signature(entity, member);
        let id = ProcedureId(self.procedures.len() as u32);
        let name = self.procedure_name(entity, &signature, &key.2);
        self.procedures.push(ProcedureSlot {
            name: name.clone(),
            ir: None,
            in_progress: true,
            tainted: false,
            changed: None,
            span: signature.span,
        });
        let shapes = key.2.clone();
        self.procedure_ids.insert(key, id);
        let (taint, outer) = (self.taint, self.used_changed.take());
        let lowered = self.nested(used_at, |this| {
            this.in_body(Body::new(entity), |this| this.lower_procedure(entity, member, &signature, &shapes, name))
        });
        let slot = &mut self.procedures[id.index()];
        slot.in_progress = false;
        slot.tainted = self.taint != taint;
        slot.ir = lowered.flatten();
        slot.changed = self.used_changed.clone();
        self.used_changed = self.used_changed.take().or(outer);
        Some(id)
    }

    fn procedure_name(&mut self, entity: EntityId, signature: &Signature, shapes: &[Vec<u32>]) -> String {
        let base = if entity == self.home {
            signature.name.clone()
        } else {
            format!("{}.{}", self.file(entity).name, signature.name)
        };
        let declared: Vec<&Vec<u32>> = signature.params.iter().filter(|ty| ty.is_list()).map(|ty| &ty.dims).collect();
        let mut name = base.clone();
        if declared.iter().zip(shapes).any(|(declared, shape)| *declared != shape) {
            for shape in shapes {
                let sizes: Vec<String> = shape.iter().map(u32::to_string).collect();
                name = format!("{name}_{}", sizes.join("x"));
            }
        }
        let mut n = 2;
        let stem = name.clone();
        while !self.procedure_names.insert(name.clone()) {
            name = format!("{stem}_{n}");
            n += 1;
        }
        name
    }

    fn lower_procedure(
        &mut self,
        entity: EntityId,
        member: Member,
        signature: &Signature,
        shapes: &[Vec<u32>],
        name: String,
    ) -> Option<ir::Procedure> {
        let file = self.file(entity);
        let (params, vars, annotations) = match member {
            Member::Function(at) => {
                let function = file.functions().get(at as usize)?;
                (&function.params, &function.vars, &function.annotations)
            }
            Member::Procedure(at) => {
                let procedure = file.procedures().get(at as usize)?;
                (&procedure.params, &procedure.vars, &procedure.annotations)
            }
            _ => return None,
        };
        let mut shapes = shapes.iter();
        for (param, ty) in params.iter().zip(&signature.params) {
            let mut ty = ty.clone();
            if ty.is_list()
                && let Some(dims) = shapes.next()
            {
                ty.dims = dims.clone();
            }
            let assignable = !ty.is_list() || matches!(member, Member::Procedure(_));
            let id = self.add_local(&param.name.text, ty, LocalKind::Parameter);
            self.bind(&param.name, Binding::Local { id, assignable, span: param.name.span });
        }
        let list_result = signature.result.as_ref().filter(|ty| ty.is_list());
        let out = list_result.map(|ty| self.add_local("result", ty.clone(), LocalKind::Parameter));
        let n_parameters = self.body.locals.len();
        self.enter_locals();
        for var in vars {
            self.declare_local(var);
        }
        let result = match member {
            Member::Function(at) => {
                let body = file.functions().get(at as usize)?.body.as_ref()?;
                match (out, &signature.result) {
                    (Some(out), Some(ty)) => {
                        self.assign_into(Self::local_place(out, body.span), ty, body);
                        None
                    }
                    (_, Some(ty)) => {
                        let typed = self.expr(body);
                        let value = self.convert(typed, ty.elem, "the result");
                        let scalar = self.ir_type(ty).element;
                        Some((scalar, value))
                    }
                    (_, None) => None,
                }
            }
            Member::Procedure(at) => {
                let body = file.procedures().get(at as usize)?.body.as_deref()?;
                self.stmts(body);
                None
            }
            _ => None,
        };
        let pure_function = result.is_some() && !signature.impure;
        Some(ir::Procedure {
            name,
            locals: std::mem::take(&mut self.body.locals),
            n_parameters,
            body: std::mem::take(&mut self.body.out),
            result,
            pure_function,
            annotations: crate::actor::annotations(annotations),
            span: signature.span,
        })
    }

    /// Lowers a function or procedure with the shapes that it declares, for the sake of its diagnostics.
    pub fn check_callable(&mut self, entity: EntityId, member: Member) {
        let signature = self.signature(entity, member);
        if signature.native {
            return;
        }
        let shapes: Vec<Vec<u32>> =
            signature.params.iter().filter(|ty| ty.is_list()).map(|ty| ty.dims.clone()).collect();
        let seen = self.procedure_ids.keys().any(|(e, m, _)| (*e, *m) == (entity, member));
        if !seen {
            self.procedure(entity, member, shapes, signature.span);
        }
    }
}
