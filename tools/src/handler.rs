// SPDX-License-Identifier: MIT OR Apache-2.0

//! The three ways to write a tool: a function, an object, a component that owns several.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::BoxFuture;
use crate::cx::Cx;
use crate::declare::{Declaration, ToolBuilder};
use crate::result::{IntoResult, RawOutcome, ToolError, ToolResult};

/// A hardware handle, given to a tool that asks for it. A tool whose handle is missing fails the build.
pub struct Hal<T: ?Sized>(Arc<T>);

impl<T: ?Sized> Hal<T> {
    /// Wraps a handle, for calling a tool function directly in a test.
    #[must_use]
    pub fn new(handle: Arc<T>) -> Self {
        Self(handle)
    }
}

impl<T: ?Sized> Clone for Hal<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for Hal<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> fmt::Debug for Hal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hal<{}>", type_name::<T>())
    }
}

/// The handles a tool set was built with, by type.
#[derive(Default)]
pub struct HalMap(BTreeMap<TypeId, Box<dyn Any + Send + Sync>>);

impl HalMap {
    pub(crate) fn insert<T: ?Sized + Send + Sync + 'static>(&mut self, handle: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), Box::new(Hal(handle)));
    }

    pub(crate) fn has(&self, need: &Need) -> bool {
        self.0.contains_key(&need.type_id)
    }
}

impl fmt::Debug for HalMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HalMap({} handles)", self.0.len())
    }
}

/// A handle that a tool cannot work without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    type_id: TypeId,
    /// Name of the handle's type, for the person who has to provide it.
    pub type_name: &'static str,
}

/// What a tool function may take after its arguments: [`Cx`] and [`Hal<T>`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "not a tool parameter",
    note = "the first parameter is the argument struct; the others are `Cx` or `Hal<T>`"
)]
pub trait Extract: Sized + Send + 'static {
    /// The handle it needs, if any.
    fn need() -> Option<Need>;
    /// The value; `None` only if its handle is missing, which a build rules out.
    fn extract(cx: &Cx, hal: &HalMap) -> Option<Self>;
}

impl Extract for Cx {
    fn need() -> Option<Need> {
        None
    }

    fn extract(cx: &Cx, _: &HalMap) -> Option<Self> {
        Some(cx.clone())
    }
}

impl<T: ?Sized + Send + Sync + 'static> Extract for Hal<T> {
    fn need() -> Option<Need> {
        Some(Need { type_id: TypeId::of::<T>(), type_name: type_name::<T>() })
    }

    fn extract(_: &Cx, hal: &HalMap) -> Option<Self> {
        hal.0.get(&TypeId::of::<T>())?.downcast_ref::<Self>().cloned()
    }
}

/// A function that is a tool. Implemented for `async fn(Args, …up to three of Cx and Hal<T>) -> impl IntoResult`;
/// `Marker` only tells the argument lists apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool function",
    note = "a tool is `async fn name(args: MyArgs, ...) -> impl IntoResult`, with `MyArgs: Deserialize + JsonSchema`",
    note = "the other parameters, at most three, are `Cx` or `Hal<T>`; its future must be `Send`"
)]
pub trait Handler<Marker>: Send + Sync + 'static {
    /// Its arguments.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    /// The handles it needs.
    fn needs() -> Vec<Need>;
    /// Starts it.
    fn call(&self, args: Self::Args, cx: &Cx, hal: &HalMap) -> BoxFuture<'static, RawOutcome>;
}

macro_rules! handlers {
    ($(($($extractor:ident),*);)*) => {$(
        impl<F, Fut, A, $($extractor),*> Handler<fn(A, $($extractor),*)> for F
        where
            F: Fn(A, $($extractor),*) -> Fut + Send + Sync + 'static,
            Fut: Future + Send + 'static,
            Fut::Output: IntoResult,
            A: DeserializeOwned + JsonSchema + Send + 'static,
            $($extractor: Extract,)*
        {
            type Args = A;

            fn needs() -> Vec<Need> {
                let needs: [Option<Need>; handlers!(@count $($extractor)*)] = [$($extractor::need()),*];
                needs.into_iter().flatten().collect()
            }

            #[allow(unused_variables, reason = "a function without extractors uses neither `cx` nor `hal`")]
            fn call(&self, args: A, cx: &Cx, hal: &HalMap) -> BoxFuture<'static, RawOutcome> {
                $(
                    #[allow(non_snake_case, reason = "a value named after its type parameter")]
                    let Some($extractor) = $extractor::extract(cx, hal) else { return unbuilt() };
                )*
                let run = self(args, $($extractor),*);
                Box::pin(async move { run.await.into_result() })
            }
        }
    )*};
    (@count) => { 0 };
    (@count $head:ident $($tail:ident)*) => { 1 + handlers!(@count $($tail)*) };
}

handlers! {
    ();
    (E1);
    (E1, E2);
    (E1, E2, E3);
}

/// A body whose handle is missing: only reachable by calling a tool of no built set.
fn unbuilt() -> BoxFuture<'static, RawOutcome> {
    Box::pin(async { Err(ToolError::public("this device does not have the hardware for that")) })
}

/// Declares a function as a tool. Its name is the function's; a closure must be [`ToolBuilder::named`].
pub fn tool<Marker, H: Handler<Marker>>(function: H) -> ToolBuilder<H::Args> {
    // `core::any::type_name` promises no format; a test pins the one in use, and `named` is the way out.
    let path = type_name::<H>();
    let name = path.rsplit("::").next().unwrap_or(path);
    ToolBuilder::new::<H::Args>(name, H::needs(), move |args, cx, hal| function.call(args, cx, hal))
}

/// A tool with state of its own, or a name known only at run time.
pub trait Tool: Send + Sync + 'static {
    /// Its arguments.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// Its name.
    fn name(&self) -> &str;

    /// What the model reads; by default the doc comment of `Args`.
    fn description(&self) -> Option<&str> {
        None
    }

    /// Rules for the prompt.
    fn instruction(&self) -> Option<&str> {
        None
    }

    /// Runs it.
    fn call(&self, args: Self::Args, cx: Cx) -> impl Future<Output = Result<ToolResult, ToolError>> + Send;
}

/// Declares an object as a tool. The instance that runs is the instance given here.
pub fn object<T: Tool>(object: Arc<T>) -> ToolBuilder<T::Args> {
    let (name, description, rules) = (
        object.name().to_owned(),
        object.description().map(str::to_owned),
        object.instruction().map(str::to_owned),
    );
    let mut builder = ToolBuilder::new::<T::Args>(&name, Vec::new(), move |args, cx, _| {
        let (object, cx) = (Arc::clone(&object), cx.clone());
        Box::pin(async move { object.call(args, cx).await })
    });
    if let Some(description) = description {
        builder = builder.described(description);
    }
    if let Some(rules) = rules {
        builder = builder.instruct(rules);
    }
    builder
}

/// A component that owns its tools.
pub trait HasTools {
    /// All of them.
    fn tools(self: Arc<Self>) -> Vec<Declaration>;
}
