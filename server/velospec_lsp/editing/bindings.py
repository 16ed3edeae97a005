"""What binds a name in each language: the tables by which `rename` proves where a name is visible.

A node is named by its type; a place by the type of the node and the field, None for a child without one. The
tables are deliberately smaller than the languages: what they do not know, a rename refuses.
"""

from __future__ import annotations

import builtins
import keyword
from dataclasses import dataclass, field

Place = tuple[str, str | None]


@dataclass(frozen=True)
class Rules:
    """How one language binds names."""

    pattern: str  # of a fresh name, as a regular expression
    scopes: frozenset[str]  # nodes that a name bound in them is visible in
    binds: frozenset[Place]  # where a name stands that is bound in the scope around
    binds_outside: frozenset[Place] = frozenset()  # the same, in the scope around that node: functions' names
    patterns: dict[str, frozenset[str | None]] = field(
        default_factory=dict
    )  # what a binding may be nested in
    names: frozenset[str] = frozenset({"identifier"})
    members: frozenset[Place] = frozenset()  # where an identifier is no variable: fields, labels, keywords
    refused: frozenset[str] = frozenset()  # nodes in which a name is imported, exported or declared elsewhere
    refused_places: frozenset[Place] = frozenset()  # the same by place: what may be a field or a variable
    shorthands: frozenset[str] = frozenset()  # where one name is a field's and a variable's at once
    outside: frozenset[Place] = frozenset()  # parts of a scope that do not see what it binds
    assigns: frozenset[str] = frozenset()  # nodes that bind only where they have the mark `declaring`
    declaring: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()  # names that cannot or should not be given
    hoisted: bool = False  # whether a name is visible before the place that binds it
    functions: frozenset[str] = frozenset()  # the scopes that functions' names and `hoisting` bindings go to
    hoisting: frozenset[str] = frozenset()  # nodes and marks
    traps: frozenset[str] = frozenset()  # functions by which a program can reach variables by their names


_ANY: frozenset[str | None] = frozenset({None})
_SNAKE, _CAMEL = "[a-z][a-z0-9_]{1,30}", "[a-z][a-zA-Z0-9]{1,30}"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _places(text: str) -> frozenset[Place]:
    """`type.field` or `type` for a child without a field."""
    return frozenset((kind, name or None) for kind, _, name in (word.partition(".") for word in text.split()))


_COMPREHENSIONS = "list_comprehension set_comprehension dictionary_comprehension generator_expression"

PYTHON = Rules(
    pattern=_SNAKE,
    scopes=_words(f"module function_definition class_definition lambda {_COMPREHENSIONS}"),
    binds=_places(
        "parameters lambda_parameters default_parameter.name typed_default_parameter.name assignment.left "
        "augmented_assignment.left for_statement.left for_in_clause.left as_pattern_target "
        "named_expression.name"
    ),
    binds_outside=_places("function_definition.name class_definition.name"),
    patterns=dict.fromkeys(
        _words(
            "pattern_list tuple_pattern list_pattern list_splat_pattern dictionary_splat_pattern "
            "typed_parameter"
        ),
        _ANY,
    ),
    members=_places("attribute.attribute keyword_argument.name"),
    refused=_words(
        "dotted_name aliased_import global_statement nonlocal_statement case_pattern keyword_pattern "
        "splat_pattern as_pattern class_pattern type_parameter"
    ),
    outside=_places(
        "for_in_clause.right default_parameter.value typed_default_parameter.value "
        "typed_default_parameter.type typed_parameter.type function_definition.return_type"
    ),
    reserved=frozenset(keyword.kwlist)
    | frozenset(keyword.softkwlist)
    | frozenset(dir(builtins))
    | {"self", "cls"},
    hoisted=True,
    functions=_words("module function_definition class_definition lambda"),
    hoisting=_words("named_expression"),
    traps=_words("locals vars eval exec globals"),
)

_SCRIPT = Rules(
    pattern=_CAMEL,
    scopes=_words(
        "program function_declaration generator_function_declaration function_expression "
        "generator_function arrow_function method_definition statement_block for_statement "
        "for_in_statement catch_clause class_body switch_body function_type"
    ),
    binds=_places(
        "formal_parameters required_parameter.pattern optional_parameter.pattern arrow_function.parameter "
        "variable_declarator.name for_in_statement.left catch_clause.parameter function_expression.name"
    ),
    binds_outside=_places(
        "function_declaration.name generator_function_declaration.name class_declaration.name"
    ),
    patterns={
        **dict.fromkeys(_words("object_pattern array_pattern rest_pattern"), _ANY),
        "pair_pattern": frozenset({"value"}),
        "assignment_pattern": frozenset({"left"}),
        "object_assignment_pattern": frozenset({"left"}),
    },
    names=_words("identifier shorthand_property_identifier shorthand_property_identifier_pattern"),
    refused=_words(
        "import_specifier namespace_import import_clause export_specifier export_statement "
        "accessibility_modifier"
    ),
    shorthands=_words("shorthand_property_identifier shorthand_property_identifier_pattern"),
    assigns=_words("for_in_statement"),
    declaring=_words("let const var"),
    reserved=_words(
        "abstract any arguments as async await boolean break case catch class const continue debugger "
        "declare default delete do else enum eval export extends false finally for from function get if "
        "implements import in instanceof interface is keyof let module namespace never new null number "
        "object of package private protected public readonly return set static string super switch symbol "
        "this throw true try type typeof undefined unknown var void while with yield window document "
        "console globalThis"
    ),
    hoisted=True,
    functions=_words(
        "program function_declaration generator_function_declaration function_expression "
        "generator_function arrow_function method_definition"
    ),
    hoisting=_words("variable_declaration var"),
    traps=_words("eval"),
)

_GO = Rules(
    pattern=_CAMEL,
    scopes=_words(
        "source_file function_declaration method_declaration func_literal block if_statement "
        "for_statement expression_switch_statement type_switch_statement expression_case default_case "
        "type_case communication_case"
    ),
    binds=_places(
        "parameter_declaration.name variadic_parameter_declaration.name short_var_declaration.left "
        "var_spec.name const_spec.name range_clause.left receive_statement.left "
        "type_switch_statement.alias"
    ),
    binds_outside=_places("function_declaration.name"),
    patterns={"expression_list": _ANY},
    refused=_words("import_spec labeled_statement"),
    refused_places=_places("keyed_element.key"),
    assigns=_words("range_clause receive_statement"),
    declaring=frozenset({":="}),
    reserved=_words(
        "break case chan const continue default defer else fallthrough for func go goto if import "
        "interface map package range return select struct switch type var any append bool byte cap clear "
        "close complex copy delete error false float32 float64 imag int int8 int16 int32 int64 iota len "
        "make max min new nil panic print println real recover rune string true uint uint8 uint16 uint32 "
        "uint64 uintptr init main"
    ),
)

_RUST = Rules(
    pattern=_SNAKE,
    scopes=_words(
        "source_file function_item closure_expression block match_arm for_expression if_expression "
        "while_expression mod_item impl_item"
    ),
    binds=_places(
        "parameter.pattern closure_parameters let_declaration.pattern let_condition.pattern "
        "for_expression.pattern match_arm.pattern"
    ),
    binds_outside=_places("function_item.name"),
    patterns={
        **dict.fromkeys(
            _words(
                "tuple_pattern reference_pattern mut_pattern ref_pattern captured_pattern slice_pattern "
                "or_pattern struct_pattern match_pattern tuple_struct_pattern"
            ),
            _ANY,
        ),
        "field_pattern": frozenset({"pattern", "name"}),
    },
    names=_words("identifier shorthand_field_identifier"),
    members=_places("macro_invocation.macro lifetime scoped_identifier.name scoped_identifier.path label"),
    refused=_words(
        "use_declaration use_list use_as_clause scoped_use_list macro_definition token_binding_pattern"
    ),
    shorthands=_words("shorthand_field_identifier shorthand_field_initializer"),
    reserved=_words(
        "as async await break const continue crate dyn else enum extern false fn for if impl in let loop "
        "match mod move mut pub ref return self static struct super trait true type union unsafe use "
        "where while abstract become box do final gen macro override priv try typeof unsized virtual "
        "yield"
    ),
)

_JAVA = Rules(
    pattern=_CAMEL,
    scopes=_words(
        "program class_body method_declaration constructor_declaration lambda_expression block "
        "constructor_body for_statement enhanced_for_statement try_with_resources_statement catch_clause "
        "switch_rule switch_block_statement_group"
    ),
    binds=_places(
        "formal_parameter.name variable_declarator.name enhanced_for_statement.name "
        "catch_formal_parameter.name resource.name inferred_parameters lambda_expression.parameters "
        "instanceof_expression.name type_pattern"
    ),
    members=_places(
        "field_access.field method_invocation.name method_declaration.name marker_annotation.name "
        "annotation.name element_value_pair.key labeled_statement break_statement continue_statement "
        "constructor_declaration.name class_declaration.name"
    ),
    refused=_words(
        "scoped_identifier import_declaration method_reference enum_constant record_pattern_component"
    ),
    reserved=_words(
        "abstract assert boolean break byte case catch char class const continue default do double else "
        "enum extends final finally float for goto if implements import instanceof int interface long "
        "native new package private protected public return short static strictfp super switch "
        "synchronized this throw throws transient try void volatile while true false null var record "
        "yield sealed permits"
    ),
)

_C = Rules(
    pattern=_SNAKE,
    scopes=_words(
        "translation_unit function_definition lambda_expression compound_statement for_statement "
        "for_range_loop catch_clause if_statement while_statement switch_statement field_declaration_list"
    ),
    binds=_places(
        "declaration.declarator parameter_declaration.declarator "
        "optional_parameter_declaration.declarator for_range_loop.declarator "
        "lambda_capture_initializer.left"
    ),
    binds_outside=_places("function_definition.declarator"),
    patterns={
        **dict.fromkeys(
            _words(
                "pointer_declarator array_declarator init_declarator parenthesized_declarator "
                "function_declarator"
            ),
            frozenset({"declarator", None}),
        ),
        **dict.fromkeys(_words("reference_declarator structured_binding_declarator"), _ANY),
    },
    members=_places("qualified_identifier.name"),
    refused=_words("preproc_params preproc_def preproc_function_def enumerator using_declaration"),
    reserved=_words(
        "auto break case char const continue default do double else enum extern float for goto if inline "
        "int long register restrict return short signed sizeof static struct switch typedef union "
        "unsigned void volatile while alignas alignof and asm bool catch class compl concept consteval "
        "constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit "
        "export false friend mutable namespace new noexcept not nullptr operator or override private "
        "protected public reinterpret_cast requires static_assert static_cast template this thread_local "
        "throw true try typeid typename using virtual wchar_t xor final size_t ssize_t ptrdiff_t intptr_t "
        "uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t main errno stdin "
        "stdout stderr null"
    ),
)

RULES: dict[str, Rules] = {
    "python": PYTHON,
    "javascript": _SCRIPT,
    "javascriptreact": _SCRIPT,
    "typescript": _SCRIPT,
    "typescriptreact": _SCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _C,
}
"""By language id of the protocol."""
