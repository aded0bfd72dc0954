//! Reads the -sys crates: Rust source with the three macros of `hip_sys`.

use crate::declarations::{Declarations, function};
use anyhow::{Result, anyhow, bail};
use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, ForeignItemFn, Ident, Item, LitInt, LitStr, Member, Token, Type, braced};

/// The body of `library!`.
struct Library {
    required: Vec<ForeignItemFn>,
    optional: Vec<ForeignItemFn>,
}

impl Parse for Library {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Attribute::parse_outer)?;
        input.parse::<Token![pub]>()?;
        input.parse::<Token![struct]>()?;
        input.parse::<Ident>()?;
        let about;
        braced!(about in input);
        // Headers do not say where the library is searched for.
        about.parse::<TokenStream>()?;
        let mut library = Self { required: Vec::new(), optional: Vec::new() };
        while !input.is_empty() {
            if input.peek(Ident) {
                let keyword: Ident = input.parse()?;
                if keyword != "optional" {
                    return Err(syn::Error::new(keyword.span(), "a function or `optional` was expected"));
                }
                let inner;
                braced!(inner in input);
                while !inner.is_empty() {
                    library.optional.push(inner.parse()?);
                }
            } else {
                library.required.push(input.parse()?);
            }
        }
        Ok(library)
    }
}

/// The body of `constants!`.
struct Constants(Type, Vec<(Ident, LitInt)>);

impl Parse for Constants {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ty = input.parse()?;
        input.parse::<Token![:]>()?;
        let mut values = Vec::new();
        while !input.is_empty() {
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            values.push((name, input.parse()?));
            input.parse::<Token![,]>()?;
            input.parse::<LitStr>()?;
            input.parse::<Token![;]>()?;
        }
        Ok(Self(ty, values))
    }
}

/// The body of `handles!`.
struct Handles(Vec<(Ident, Ident)>);

impl Parse for Handles {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut handles = Vec::new();
        while !input.is_empty() {
            input.call(Attribute::parse_outer)?;
            let handle = input.parse()?;
            input.parse::<Token![=]>()?;
            handles.push((handle, input.parse()?));
            input.parse::<Token![;]>()?;
        }
        Ok(Self(handles))
    }
}

/// Returns the declarations of a source file.
pub fn read(source: &str) -> Result<Declarations> {
    let mut found = Declarations::default();
    for item in syn::parse_file(source)?.items {
        match item {
            Item::Type(alias) => {
                found.aliases.insert(alias.ident.to_string(), *alias.ty);
            }
            Item::Const(item) => layout(&mut found, &item)?,
            Item::Macro(item) => {
                let name = item.mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                match name.as_str() {
                    "library" => {
                        let library: Library = item.mac.parse_body()?;
                        found.functions.extend(library.required.iter().map(|f| function(f, true)));
                        found.functions.extend(library.optional.iter().map(|f| function(f, false)));
                    }
                    "constants" => {
                        let Constants(ty, values) = item.mac.parse_body()?;
                        for (name, value) in values {
                            found.constants.insert(name.to_string(), (ty.clone(), value.base10_parse()?));
                        }
                    }
                    "handles" => {
                        let Handles(handles) = item.mac.parse_body()?;
                        for (handle, object) in handles {
                            found.aliases.insert(handle.to_string(), syn::parse_quote!(*mut #object));
                        }
                    }
                    other => bail!("the macro {other}! is not one of the declaring macros"),
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Reads the layouts of `hipDeviceProp_t` from `const R0600: PropertiesLayout = PropertiesLayout {
/// size: .., arch_name: .. }`.
fn layout(found: &mut Declarations, item: &syn::ItemConst) -> Result<()> {
    let Expr::Struct(value) = &*item.expr else { return Ok(()) };
    for field in &value.fields {
        let (Member::Named(name), Expr::Lit(literal)) = (&field.member, &field.expr) else { continue };
        let syn::Lit::Int(number) = &literal.lit else { continue };
        let structure = format!("hipDeviceProp_t{}", item.ident);
        let fact = match name.to_string().as_str() {
            "size" => structure,
            "arch_name" => format!("{structure}::gcnArchName"),
            other => return Err(anyhow!("the layout of {structure} has an unknown field {other}")),
        };
        found.layouts.insert(fact, number.base10_parse()?);
    }
    Ok(())
}
