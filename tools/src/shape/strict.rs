// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds what JSON cannot carry before it is quietly turned into something else: a number that is not finite (which
//! `serde_json` writes as `null`), a map key that is no string (written as one), and raw bytes (written as a list).
//! A model reads each of these aloud as fact.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{
    Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// What a value holds that JSON cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(String);

impl Fault {
    pub(super) fn from_text(text: String) -> Self {
        Self(text)
    }
}

impl Error for Fault {
    fn custom<T: Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

/// Walks `value` without building anything.
///
/// # Errors
/// The first part of it that JSON cannot carry.
pub(super) fn check(value: &(impl Serialize + ?Sized)) -> Result<(), Fault> {
    value.serialize(Walk)
}

type Verdict = Result<(), Fault>;

/// Visits values.
#[derive(Clone, Copy)]
struct Walk;

macro_rules! carried {
    ($($method:ident($type:ty);)*) => {$(
        fn $method(self, _: $type) -> Verdict {
            Ok(())
        }
    )*};
}

impl Serializer for Walk {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    carried! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_char(char);
        serialize_str(&str);
        serialize_unit_struct(&'static str);
    }

    fn serialize_f32(self, number: f32) -> Verdict {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Verdict {
        if number.is_finite() { Ok(()) } else { Err(Fault(format!("the number {number} is not finite"))) }
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Verdict {
        Err(Fault(format!("{} raw bytes have no meaning to a model", bytes.len())))
    }

    fn serialize_none(self) -> Verdict {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Verdict {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Verdict {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Verdict {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Verdict {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Verdict {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Fault> {
        Ok(self)
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident;)*) => {$(
        impl $trait for Walk {
            type Ok = ();
            type Error = Fault;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Verdict {
                value.serialize(*self)
            }

            fn end(self) -> Verdict {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

macro_rules! fields {
    ($($trait:ident;)*) => {$(
        impl $trait for Walk {
            type Ok = ();
            type Error = Fault;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Verdict {
                value.serialize(*self)
            }

            fn end(self) -> Verdict {
                Ok(())
            }
        }
    )*};
}

fields! {
    SerializeStruct;
    SerializeStructVariant;
}

impl SerializeMap for Walk {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Verdict {
        match serde_json::to_value(key) {
            Ok(serde_json::Value::String(_)) => Ok(()),
            Ok(other) => Err(Fault(format!("the map key {other} is not a string"))),
            Err(error) => Err(Fault(error.to_string())),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Verdict {
        value.serialize(*self)
    }

    fn end(self) -> Verdict {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    struct Reading {
        zone: &'static str,
        values: Vec<Option<f64>>,
    }

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Tuple(f32, u8),
        Named { x: f64 },
    }

    #[test]
    fn ordinary_values_pass() {
        let reading = Reading { zone: "dock", values: vec![Some(1.5), None] };
        assert_eq!(check(&reading), Ok(()));
        assert_eq!(check(&(Shape::Unit, Shape::Tuple(1.0, 2), Shape::Named { x: -0.0 })), Ok(()));
        assert_eq!(check(&BTreeMap::from([("a", 1)])), Ok(()));
        assert_eq!(check("text"), Ok(()));
    }

    #[test]
    fn numbers_that_are_none_are_found_at_any_depth() {
        assert!(check(&f64::NAN).is_err());
        assert!(check(&f32::INFINITY).is_err());
        assert!(check(&Reading { zone: "dock", values: vec![None, Some(f64::NEG_INFINITY)] }).is_err());
        assert!(check(&Shape::Tuple(f32::NAN, 0)).is_err());
        assert!(check(&Shape::Named { x: f64::NAN }).is_err());
        assert!(check(&BTreeMap::from([("a", Some(f64::NAN))])).is_err());
    }

    #[test]
    fn keys_that_are_no_strings_are_found() {
        assert_eq!(
            check(&BTreeMap::from([(1, "a")])),
            Err(Fault("the map key 1 is not a string".to_owned()))
        );
        assert!(check(&BTreeMap::from([((1, 2), "a")])).is_err());
        assert!(check(&BTreeMap::from([(true, "a")])).is_err());
    }
}
