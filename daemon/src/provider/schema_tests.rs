// SPDX-License-Identifier: MIT OR Apache-2.0

//! Argument schemas in, declared parameters out.

use super::*;

/// Lowers `property` as the only property `p` of a tool.
#[track_caller]
fn check(property: Value, expected: Value) {
    let schema = json!({"type": "object", "properties": {"p": property}});
    let lowered = parameters(&schema);
    assert_eq!(lowered.as_ref().and_then(|all| all.pointer("/properties/p")), Some(&expected));
}

#[test]
fn types_become_upper_case_and_limits_stay() {
    check(
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "uuid"}),
        json!({"type": "STRING", "minLength": 1, "maxLength": 9, "pattern": "^a"}),
    );
    check(
        json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": 1.5, "multipleOf": 2}),
        json!({"type": "INTEGER", "format": "int64", "minimum": 0, "maximum": 1.5}),
    );
    check(json!({"type": "integer", "format": "uint8", "exclusiveMinimum": 0}), json!({"type": "INTEGER"}));
    check(
        json!({"type": "array", "items": {"type": "number"}, "minItems": 1, "uniqueItems": true}),
        json!({"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": 1}),
    );
    check(json!({"type": "array"}), json!({"type": "ARRAY", "items": {}}));
    check(json!({"type": "string", "minLength": -1, "maxItems": 3}), json!({"type": "STRING"}));
}

#[test]
fn enums_are_for_strings_only() {
    check(json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "STRING", "enum": ["a", "b"]}));
    check(json!({"enum": ["a", null]}), json!({"type": "STRING", "nullable": true, "enum": ["a"]}));
    check(json!({"type": "integer", "enum": [1, 2]}), json!({"type": "INTEGER"}));
    check(json!({"enum": [1, 2]}), json!({"type": "INTEGER"}));
    check(json!({"type": "string", "enum": ["", "a"]}), json!({"type": "STRING"}));
    check(json!({"const": "x"}), json!({"type": "STRING", "enum": ["x"]}));
    check(json!({"const": 4}), json!({"type": "INTEGER"}));
    check(
        json!({"description": "unit", "oneOf": [{"const": "kg", "description": "k"}, {"const": "lb"}]}),
        json!({"description": "unit", "type": "STRING", "enum": ["kg", "lb"]}),
    );
}

#[test]
fn optional_values_are_nullable() {
    check(json!({"type": ["integer", "null"]}), json!({"type": "INTEGER", "nullable": true}));
    check(
        json!({"anyOf": [{"type": "string", "description": "inner"}, {"type": "null"}], "default": null}),
        json!({"type": "STRING", "description": "inner", "nullable": true}),
    );
    check(
        json!({"type": ["string", "integer"], "minimum": 1}),
        json!({"anyOf": [{"type": "STRING"}, {"type": "INTEGER", "minimum": 1}]}),
    );
    check(
        json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}),
        json!({"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]}),
    );
}

#[test]
fn what_the_dialect_cannot_say_is_left_out() {
    check(
        json!({"type": "object", "additionalProperties": false, "$schema": "x", "not": {}, "if": {},
               "properties": {"a": {"type": "boolean", "examples": [true]}, "b-c": {"type": "string"}},
               "required": ["a", "b-c", "gone"]}),
        json!({"type": "OBJECT", "properties": {"a": {"type": "BOOLEAN"}}, "required": ["a"]}),
    );
    check(
        json!({"allOf": [{"type": "string"}], "description": "d"}),
        json!({"type": "STRING", "description": "d"}),
    );
    check(json!({"allOf": [{"type": "string"}, {"minLength": 2}]}), json!({}));
    check(json!({"$ref": "#/$defs/x"}), json!({}));
    check(json!(true), json!({}));
    check(json!({"type": "object"}), json!({"type": "OBJECT"}));
}

#[test]
fn arguments_of_several_shapes_become_one() {
    let schema = json!({"title": "Args", "oneOf": [
        {"type": "object", "required": ["kind", "bay", "n"], "properties": {
            "kind": {"const": "open"}, "bay": {"type": "integer", "minimum": 1}, "n": {"type": "string"}}},
        {"type": "object", "required": ["kind", "n"], "properties": {
            "kind": {"const": "close"}, "bay": {"type": "integer", "maximum": 9}, "n": {"type": ["integer", "null"]}}},
    ]});
    assert_eq!(
        parameters(&schema),
        Some(json!({"title": "Args", "type": "OBJECT", "required": ["kind", "n"], "properties": {
            "kind": {"type": "STRING", "enum": ["open", "close"]},
            "bay": {"type": "INTEGER"},
            "n": {"nullable": true},
        }}))
    );
}

#[test]
fn a_choice_beside_a_type_is_left_out() {
    check(
        json!({"type": "string", "anyOf": [{"minLength": 2}, {"pattern": "^a"}]}),
        json!({"type": "STRING"}),
    );
}

#[test]
fn a_tool_without_arguments_declares_none() {
    for schema in [
        json!({}),
        json!(true),
        json!(null),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
    ] {
        assert_eq!(parameters(&schema), None, "{schema}");
    }
}

#[test]
fn depth_is_bounded() {
    let mut schema = json!({"type": "string"});
    for _ in 0..100 {
        schema = json!({"type": "object", "properties": {"p": schema}});
    }
    let mut depth = 0;
    let mut at = parameters(&schema);
    while let Some(inner) = at.as_ref().and_then(|value| value.pointer("/properties/p").cloned()) {
        depth += 1;
        at = Some(inner);
    }
    assert_eq!(depth, MAX_DEPTH);
}
