#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Independent checker for Gemini Live (BidiGenerateContent) JSON messages.

Needs only an installed google-genai (tested with 3.6.1); makes no network call.

    gemini_oracle.py check        FILE|-   one client message per line, in sending order
    gemini_oracle.py check-server FILE|-   one server message per line (for a fake server)
    gemini_oracle.py emit [NAME ...]       valid sample server messages, one per line
                                           (no NAME: every scenario of the backend)
    gemini_oracle.py list                  names of the sample scenarios
    gemini_oracle.py fields TYPE           wire field names of one SDK type
    gemini_oracle.py selftest              built-in good and bad messages

Options: --backend mldev|vertex (default mldev)   --no-lint   --stateless
Exit status: 0 nothing wrong, 1 errors found, 2 usage.

Three layers, reported separately:
  SCHEMA  own walk over the SDK's pydantic models. Keys must be the camelCase wire
          names (the SDK also takes snake_case, so pydantic alone would not notice),
          unknown keys, wrong JSON types, enum values outside the SDK's list, bad base64.
  SDK     the same message through pydantic model_validate_json(strict=True); the SDK
          models are extra="forbid".
  LINT    rules of use that types cannot express (order, manual VAD brackets, per-model
          restrictions). These come from documentation and field reports.
"""

import argparse
import base64
import binascii
import datetime
import enum
import json
import re
import sys
import types as pytypes
import typing
import warnings
from typing import Any, Optional

import pydantic

warnings.simplefilter("ignore")
from google.genai import _live_converters as conv  # noqa: E402
from google.genai import types as T  # noqa: E402
from google.genai import version as genai_version  # noqa: E402

# --------------------------------------------------------------------------- models
# The SDK's LiveClientSetup (3.6.1) has no realtimeInputConfig although the service takes
# it and LiveConnectConfig has it. Bare strings for systemInstruction and callables for
# tools are SDK conveniences that do not exist on the wire, so both are narrowed here.


class WireSetup(T.LiveClientSetup):
    system_instruction: Optional[T.Content] = None
    tools: Optional[list[T.Tool]] = None
    realtime_input_config: Optional[T.RealtimeInputConfig] = None


class WireContextTools(T.LiveClientContextUpdateTools):
    tools: Optional[list[T.Tool]] = None


class WireContextUpdate(T.LiveClientContextUpdate):
    system_instruction: Optional[T.Content] = None
    tools: Optional[WireContextTools] = None


class WireClientMessage(T.LiveClientMessage):
    setup: Optional[WireSetup] = None
    context_update: Optional[WireContextUpdate] = None


SDK_NAMES = {c.__name__: c.__mro__[1].__name__ for c in (WireSetup, WireContextTools, WireContextUpdate, WireClientMessage)}
# Server side: the wire name of VoiceActivity's enum is `type` (see the SDK's converter).
WIRE_RENAMES = {("VoiceActivity", "voiceActivityType"): "type"}
CLIENT_KINDS = ("setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate")
SERVER_KINDS = (
    "setupComplete", "serverContent", "toolCall", "toolCallCancellation",
    "goAway", "sessionResumptionUpdate", "voiceActivityDetectionSignal", "voiceActivity",
)
# Fields the service is known to send that this SDK release has no model for.
SERVER_EXTRA = {
    "LiveServerMessage": {"interactionStatus": "shown at top level beside toolCall in the Live thinking guide"},
    "LiveServerContent": {
        "speechState": "Agent Platform reference: NON_SPEECH | SPEECH",
        "continuationToken": "seen in a third-party Dart client (2026-11)",
        "continuationIds": "seen in a third-party Dart client (2026-11)",
    },
    "UsageMetadata": {
        "candidatesTokenCount": "Vertex spelling of responseTokenCount",
        "candidatesTokensDetails": "Vertex spelling of responseTokensDetails",
    },
}


class Finding:
    def __init__(self, layer: str, path: str, text: str, level: str = "error"):
        self.layer, self.path, self.text, self.level = layer, path, text, level

    def __str__(self) -> str:
        mark = "" if self.level == "error" else f" ({self.level})"
        return f"{self.layer}{mark} {self.path or '$'}: {self.text}"


# --------------------------------------------------------------------------- walker


def is_model(t: Any) -> bool:
    return isinstance(t, type) and issubclass(t, pydantic.BaseModel)


def is_enum(t: Any) -> bool:
    return isinstance(t, type) and issubclass(t, enum.Enum)


def wire_fields(model: type) -> dict:
    """Wire name -> annotation for one SDK model."""
    owner = SDK_NAMES.get(model.__name__, model.__name__)
    out = {}
    for name, field in model.model_fields.items():
        alias = field.alias or name
        out[WIRE_RENAMES.get((owner, alias), alias)] = field.annotation
    return out


def camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda m: m.group(1).upper(), name)


def walk(value: Any, ann: Any, path: str, out: list, server: bool) -> None:
    origin = typing.get_origin(ann)
    args = typing.get_args(ann)
    if ann is Any or isinstance(ann, typing.TypeVar):
        return
    if origin is typing.Annotated:
        return walk(value, args[0], path, out, server)
    if origin in (typing.Union, pytypes.UnionType):
        options = [a for a in args if a is not type(None)]
        if value is None:
            out.append(Finding("SCHEMA", path, "null; leave the field out instead"))
            return
        best: Optional[list] = None
        for option in options:
            trial: list = []
            walk(value, option, path, trial, server)
            if not trial:
                return
            if best is None or len(trial) < len(best):
                best = trial
        out.extend(best or [])
        return
    if origin is list or ann is list:
        if not isinstance(value, list):
            out.append(Finding("SCHEMA", path, f"expected an array, got {json_type(value)}"))
            return
        for i, item in enumerate(value):
            walk(item, args[0] if args else Any, f"{path}[{i}]", out, server)
        return
    if origin is dict or ann is dict:
        if not isinstance(value, dict):
            out.append(Finding("SCHEMA", path, f"expected an object, got {json_type(value)}"))
            return
        for k, item in value.items():
            walk(item, args[1] if len(args) == 2 else Any, f"{path}.{k}", out, server)
        return
    if origin is typing.Literal:
        if value not in args:
            out.append(Finding("SCHEMA", path, f"{value!r} is not one of {list(args)}"))
        return
    if is_enum(ann):
        allowed = [m.value for m in ann]
        if value not in allowed:
            near = [a for a in allowed if isinstance(value, str) and a.upper() == value.upper()]
            hint = f"; did you mean {near[0]!r}" if near else f"; allowed: {allowed}"
            out.append(Finding("SCHEMA", path, f"{value!r} is not a value of {ann.__name__}{hint}"))
        return
    if is_model(ann):
        if not isinstance(value, dict):
            out.append(Finding("SCHEMA", path, f"expected an object ({ann.__name__}), got {json_type(value)}"))
            return
        fields = wire_fields(ann)
        extra = SERVER_EXTRA.get(ann.__name__, {}) if server else {}
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            if key in fields:
                walk(item, fields[key], here, out, server)
            elif key in extra:
                out.append(Finding("SCHEMA", here, f"not in this SDK release ({extra[key]})", "note"))
            elif camel(key) in fields:
                out.append(Finding("SCHEMA", here, f"snake_case key; the wire name is {camel(key)!r}"))
            else:
                out.append(Finding("SCHEMA", here, f"unknown field of {SDK_NAMES.get(ann.__name__, ann.__name__)}"))
        return
    if ann is bytes:
        if not isinstance(value, str):
            out.append(Finding("SCHEMA", path, f"expected base64 text, got {json_type(value)}"))
            return
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as err:
            out.append(Finding("SCHEMA", path, f"not standard padded base64: {err}"))
        return
    if ann is bool:
        if not isinstance(value, bool):
            out.append(Finding("SCHEMA", path, f"expected true or false, got {json_type(value)}"))
        return
    if ann is int:
        int64_text = server and isinstance(value, str) and re.fullmatch(r"-?\d+", value)
        if (not isinstance(value, int) or isinstance(value, bool)) and not int64_text:
            out.append(Finding("SCHEMA", path, f"expected an integer, got {json_type(value)}"))
        return
    if ann is float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            out.append(Finding("SCHEMA", path, f"expected a number, got {json_type(value)}"))
        return
    if ann is str:
        if not isinstance(value, str):
            out.append(Finding("SCHEMA", path, f"expected a string, got {json_type(value)}"))
        return
    if ann is datetime.datetime:
        if not isinstance(value, str):
            out.append(Finding("SCHEMA", path, f"expected an RFC 3339 string, got {json_type(value)}"))
        return
    if ann is type(None) and value is not None:
        out.append(Finding("SCHEMA", path, "only null fits here"))


def json_type(value: Any) -> str:
    return {
        type(None): "null", bool: "boolean", int: "integer", float: "number",
        str: "string", list: "array", dict: "object",
    }.get(type(value), type(value).__name__)


def sdk_errors(model: type, text: str) -> list:
    def run(strict: bool) -> list:
        try:
            model.model_validate_json(text, strict=strict)
        except pydantic.ValidationError as err:
            return err.errors(include_url=False, include_input=False)
        except ValueError as err:
            return [{"loc": (), "type": "value_error", "msg": str(err)}]
        return []

    # The SDK's Blob refuses a JSON string for its bytes field in strict mode (plain
    # pydantic would decode base64). Those entries come from the lax run instead.
    found = [e for e in run(True) if e["type"] != "bytes_type"]
    found += [e for e in run(False) if e["type"].startswith("bytes")]
    return [Finding("SDK", ".".join(str(p) for p in e["loc"]), f"{e['type']}: {e['msg']}") for e in found]


# --------------------------------------------------------------------------- lint

FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:\-]{0,127}")
PARAM_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
AUDIO_MIME = re.compile(r"audio/pcm(?:;\s*rate=(\d+))?")


class ClientLint:
    """Rules across one connection's client messages, in order."""

    def __init__(self, backend: str):
        self.backend = backend
        self.setup: Optional[dict] = None
        self.manual_vad = False
        self.in_activity = False
        self.model = ""
        self.count = 0

    def feed(self, msg: dict, out: list) -> None:
        self.count += 1
        kind = next((k for k in CLIENT_KINDS if k in msg), None)
        if kind is None or not isinstance(msg.get(kind), dict):
            return
        if kind == "setup":
            if self.count > 1:
                out.append(Finding("LINT", "setup", "setup is only valid as the first message of a connection"))
            self.on_setup(msg["setup"], out)
            return
        if self.setup is None:
            out.append(Finding("LINT", kind, "sent before setup"))
        getattr(self, f"on_{kind}")(msg[kind], out)

    def on_setup(self, setup: dict, out: list) -> None:
        self.setup = setup
        model = setup.get("model")
        self.model = model if isinstance(model, str) else ""
        if not self.model:
            out.append(Finding("LINT", "setup.model", "required"))
        elif self.backend == "mldev" and not self.model.startswith("models/"):
            out.append(Finding("LINT", "setup.model", "Developer API wants models/<id>"))
        elif self.backend == "vertex" and not re.fullmatch(
            r"projects/[^/]+/locations/[^/]+/(publishers/[^/]+/models|endpoints)/.+", self.model
        ):
            out.append(Finding("LINT", "setup.model", "Vertex wants projects/P/locations/L/publishers/google/models/ID"))
        gen = setup.get("generationConfig")
        gen = gen if isinstance(gen, dict) else {}
        base = self.model.rsplit("/", 1)[-1]
        extended = base.startswith("gemini-3.8-live-extended-thinking")
        plain38 = base.startswith("gemini-3.8-live") and not extended
        modal = gen.get("responseModalities")
        if modal is None:
            out.append(Finding("LINT", "setup.generationConfig.responseModalities", "absent; send [\"AUDIO\"]", "warn"))
        elif base.startswith("gemini-3") and modal not in (["AUDIO"], ["VIDEO"]):
            out.append(Finding("LINT", "setup.generationConfig.responseModalities", f"{modal}: native audio models take AUDIO only"))
        for bad in ("responseLogprobs", "logprobs", "responseMimeType", "responseSchema", "responseJsonSchema",
                    "stopSequences", "routingConfig", "audioTimestamp"):
            if bad in gen:
                out.append(Finding("LINT", f"setup.generationConfig.{bad}", "not supported in Live"))
        if plain38 and "thinkingConfig" in gen:
            out.append(Finding("LINT", "setup.generationConfig.thinkingConfig", "gemini-3.8-live closes 1007 on a thinking level"))
        if extended and isinstance(gen.get("thinkingConfig"), dict):
            if gen["thinkingConfig"].get("thinkingLevel") == "MINIMAL":
                out.append(Finding("LINT", "setup.generationConfig.thinkingConfig.thinkingLevel", "MINIMAL is not supported"))
        if base.startswith("gemini-3.8") and "enableAffectiveDialog" in gen:
            out.append(Finding("LINT", "setup.generationConfig.enableAffectiveDialog", "removed for 3.8"))
        pro = setup.get("proactivity")
        if base.startswith("gemini-3.8") and isinstance(pro, dict) and pro.get("proactiveAudio") is False:
            out.append(Finding("LINT", "setup.proactivity.proactiveAudio", "false is an error on 3.8 (always on)"))
        res = setup.get("sessionResumption")
        if self.backend == "mldev" and isinstance(res, dict) and "transparent" in res:
            out.append(Finding("LINT", "setup.sessionResumption.transparent", "Vertex only; Developer API closes 1007"))
        if self.backend == "mldev" and "explicitVadSignal" in setup:
            out.append(Finding("LINT", "setup.explicitVadSignal", "Vertex only"))
        cwc = setup.get("contextWindowCompression")
        if isinstance(cwc, dict):
            trig = cwc.get("triggerTokens")
            win = cwc.get("slidingWindow")
            if not isinstance(win, dict):
                out.append(Finding("LINT", "setup.contextWindowCompression", "no slidingWindow: no mechanism selected", "warn"))
            elif isinstance(trig, int) and isinstance(win.get("targetTokens"), int) and win["targetTokens"] >= trig:
                out.append(Finding("LINT", "setup.contextWindowCompression", "targetTokens must be below triggerTokens"))
            if isinstance(trig, int) and not 5000 <= trig <= 128000:
                out.append(Finding("LINT", "setup.contextWindowCompression.triggerTokens", "documented range is 5000..128000", "warn"))
        ric = setup.get("realtimeInputConfig")
        aad = ric.get("automaticActivityDetection") if isinstance(ric, dict) else None
        self.manual_vad = isinstance(aad, dict) and aad.get("disabled") is True
        self.tools(setup.get("tools"), "setup.tools", extended, base, out)

    def tools(self, tools: Any, path: str, extended: bool, base: str, out: list) -> None:
        seen: dict = {}
        if not isinstance(tools, list):
            return
        total = 0
        for i, tool in enumerate(tools):
            decls = tool.get("functionDeclarations") if isinstance(tool, dict) else None
            for j, decl in enumerate(decls if isinstance(decls, list) else []):
                if not isinstance(decl, dict):
                    continue
                total += 1
                here = f"{path}[{i}].functionDeclarations[{j}]"
                name = decl.get("name")
                if not isinstance(name, str) or not FUNCTION_NAME.fullmatch(name):
                    out.append(Finding("LINT", f"{here}.name", f"{name!r} is not a legal function name"))
                elif name in seen:
                    out.append(Finding("LINT", f"{here}.name", f"{name!r} declared twice"))
                seen[name] = True
                if "parameters" in decl and "parametersJsonSchema" in decl:
                    out.append(Finding("LINT", here, "parameters and parametersJsonSchema exclude each other"))
                if "response" in decl and "responseJsonSchema" in decl:
                    out.append(Finding("LINT", here, "response and responseJsonSchema exclude each other"))
                if extended and decl.get("behavior") != "NON_BLOCKING":
                    out.append(Finding("LINT", f"{here}.behavior", "extended thinking takes NON_BLOCKING only"))
                if base.startswith("gemini-3.1") and decl.get("behavior") == "NON_BLOCKING":
                    out.append(Finding("LINT", f"{here}.behavior", "3.1 live calls are synchronous only"))
                if isinstance(decl.get("parameters"), dict):
                    self.schema(decl["parameters"], f"{here}.parameters", out, top=True)
        if total > 512:
            out.append(Finding("LINT", path, f"{total} declarations; documented maximum is 512"))

    def schema(self, schema: dict, path: str, out: list, top: bool = False) -> None:
        kind = schema.get("type")
        if top and kind != "OBJECT":
            out.append(Finding("LINT", f"{path}.type", "top level of parameters must be OBJECT"))
        if "enum" in schema and kind not in ("STRING", None):
            out.append(Finding("LINT", f"{path}.enum", "enum is only safe on STRING (1007 seen otherwise)"))
        if kind == "ARRAY" and "items" not in schema:
            out.append(Finding("LINT", path, "ARRAY without items"))
        props = schema.get("properties")
        if isinstance(props, dict):
            for name, sub in props.items():
                if not PARAM_NAME.fullmatch(name):
                    out.append(Finding("LINT", f"{path}.properties.{name}", "illegal parameter name"))
                if isinstance(sub, dict):
                    self.schema(sub, f"{path}.properties.{name}", out)
            for need in schema.get("required") or []:
                if need not in props:
                    out.append(Finding("LINT", f"{path}.required", f"{need!r} is not a property"))
        for key in ("items",):
            if isinstance(schema.get(key), dict):
                self.schema(schema[key], f"{path}.{key}", out)
        for i, sub in enumerate(schema.get("anyOf") or []):
            if isinstance(sub, dict):
                self.schema(sub, f"{path}.anyOf[{i}]", out)

    def on_realtimeInput(self, ri: dict, out: list) -> None:
        if len(ri) != 1:
            out.append(Finding("LINT", "realtimeInput", f"send exactly one field per message, got {sorted(ri)}"))
        if "mediaChunks" in ri:
            out.append(Finding("LINT", "realtimeInput.mediaChunks", "deprecated; use audio/video/text"))
        if "activityStart" in ri or "activityEnd" in ri:
            if not self.manual_vad:
                out.append(Finding("LINT", "realtimeInput", "activity signals need automaticActivityDetection.disabled=true"))
            if "activityStart" in ri:
                if self.in_activity:
                    out.append(Finding("LINT", "realtimeInput.activityStart", "already inside an activity"))
                self.in_activity = True
            else:
                if not self.in_activity and self.manual_vad:
                    out.append(Finding("LINT", "realtimeInput.activityEnd", "no open activity"))
                self.in_activity = False
        if "audioStreamEnd" in ri and self.manual_vad:
            out.append(Finding("LINT", "realtimeInput.audioStreamEnd", "not used with manual activity detection"))
        audio = ri.get("audio")
        if isinstance(audio, dict):
            if self.manual_vad and not self.in_activity:
                out.append(Finding("LINT", "realtimeInput.audio", "audio outside activityStart/activityEnd (1007 seen)"))
            match = AUDIO_MIME.fullmatch(audio.get("mimeType") or "")
            if not match:
                out.append(Finding("LINT", "realtimeInput.audio.mimeType", f"{audio.get('mimeType')!r}; want audio/pcm;rate=N"))
            elif match.group(1) is None:
                out.append(Finding("LINT", "realtimeInput.audio.mimeType", "no rate; 16000 is assumed", "warn"))
            try:
                raw = base64.b64decode(audio.get("data") or "", validate=True)
            except (binascii.Error, ValueError, TypeError):
                return
            rate = int(match.group(1)) if match and match.group(1) else 16000
            if not raw:
                out.append(Finding("LINT", "realtimeInput.audio.data", "empty"))
            elif len(raw) % 2:
                out.append(Finding("LINT", "realtimeInput.audio.data", "odd byte count for 16-bit samples"))
            else:
                ms = len(raw) * 1000 / (2 * rate)
                if ms > 1000:
                    out.append(Finding("LINT", "realtimeInput.audio.data", f"{ms:.0f} ms in one chunk; keep to 20..40, at most 100", "warn"))

    def on_clientContent(self, cc: dict, out: list) -> None:
        base = self.model.rsplit("/", 1)[-1]
        hist = (self.setup or {}).get("historyConfig")
        seeded = isinstance(hist, dict) and hist.get("initialHistoryInClientContent") is True
        if base.startswith("gemini-3.1") and not seeded:
            out.append(Finding("LINT", "clientContent", "3.1 live may close 1007 unless historyConfig.initialHistoryInClientContent", "warn"))
        for i, turn in enumerate(cc.get("turns") or []):
            if not isinstance(turn, dict):
                continue
            if turn.get("role") not in ("user", "model", None):
                out.append(Finding("LINT", f"clientContent.turns[{i}].role", f"{turn.get('role')!r}; user or model"))
            for j, part in enumerate(turn.get("parts") or []):
                if isinstance(part, dict) and ("functionResponse" in part or "functionCall" in part):
                    out.append(Finding("LINT", f"clientContent.turns[{i}].parts[{j}]", "tool traffic belongs in toolResponse"))

    def on_toolResponse(self, tr: dict, out: list) -> None:
        base = self.model.rsplit("/", 1)[-1]
        responses = tr.get("functionResponses")
        if not isinstance(responses, list) or not responses:
            out.append(Finding("LINT", "toolResponse.functionResponses", "empty"))
            return
        for i, fr in enumerate(responses):
            if not isinstance(fr, dict):
                continue
            here = f"toolResponse.functionResponses[{i}]"
            if self.backend == "mldev" and not fr.get("id"):
                out.append(Finding("LINT", f"{here}.id", "required on the Developer API"))
            if not fr.get("name"):
                out.append(Finding("LINT", f"{here}.name", "missing", "warn"))
            if "response" not in fr:
                out.append(Finding("LINT", f"{here}.response", "required (an object)"))
            if "scheduling" in fr and "extended-thinking" in base:
                out.append(Finding("LINT", f"{here}.scheduling", "extended thinking closes 1007 on scheduling"))
            if "scheduling" in fr and base.startswith("gemini-3.1"):
                out.append(Finding("LINT", f"{here}.scheduling", "not supported by 3.1 live"))
            if "willContinue" in fr and self.backend == "vertex":
                out.append(Finding("LINT", f"{here}.willContinue", "Developer API only"))

    def on_contextUpdate(self, cu: dict, out: list) -> None:
        if not cu:
            out.append(Finding("LINT", "contextUpdate", "sets nothing"))
        tools = cu.get("tools")
        if isinstance(tools, dict):
            base = self.model.rsplit("/", 1)[-1]
            self.tools(tools.get("tools"), "contextUpdate.tools.tools", "extended-thinking" in base, base, out)


# --------------------------------------------------------------------------- checks


def load(text: str) -> tuple:
    def no_duplicates(pairs: list) -> dict:
        obj: dict = {}
        for key, val in pairs:
            if key in obj:
                raise ValueError(f"duplicate key {key!r}")
            obj[key] = val
        return obj

    def no_constants(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        msg = json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constants)
    except ValueError as err:
        return None, [Finding("SCHEMA", "", f"not JSON: {err}")]
    if not isinstance(msg, dict):
        return None, [Finding("SCHEMA", "", f"top level must be an object, got {json_type(msg)}")]
    return msg, []


def check_client(text: str, lint: Optional[ClientLint]) -> list:
    msg, out = load(text)
    if msg is None:
        return out
    kinds = [k for k in msg if k in CLIENT_KINDS]
    if len(kinds) != 1:
        out.append(Finding("SCHEMA", "", f"exactly one of {'/'.join(CLIENT_KINDS)} wanted, got {kinds or list(msg)}"))
    walk(msg, WireClientMessage, "", out, server=False)
    out.extend(sdk_errors(WireClientMessage, text))
    if lint is not None:
        lint.feed(msg, out)
    return out


def check_server(text: str, backend: str) -> list:
    msg, out = load(text)
    if msg is None:
        return out
    kinds = [k for k in msg if k in SERVER_KINDS]
    if len(kinds) > 1:
        out.append(Finding("SCHEMA", "", f"more than one of the message union: {kinds}"))
    if not kinds and "usageMetadata" not in msg:
        out.append(Finding("SCHEMA", "", f"no known message kind in {list(msg)}"))
    walk(msg, T.LiveServerMessage, "", out, server=True)
    # What the official client makes of it: converter, then the strict models.
    fn = conv._LiveServerMessage_from_vertex if backend == "vertex" else conv._LiveServerMessage_from_mldev
    try:
        T.LiveServerMessage.model_validate(fn(msg))
    except Exception as err:  # noqa: BLE001  any failure of the official parser is a finding
        known_extra = "speechState" in text or "continuation" in text
        out.append(Finding("SDK", "", f"official client would fail: {str(err).splitlines()[0]}",
                           "note" if known_extra else "error"))
    return out


# --------------------------------------------------------------------------- samples


def pcm(ms: int, rate: int = 24000, level: int = 400) -> str:
    """A square wave, so that a player under test has something to measure."""
    half = max(1, rate // 880)
    frames = rate * ms // 1000
    body = b"".join((level if (i // half) % 2 else -level).to_bytes(2, "little", signed=True) for i in range(frames))
    return base64.b64encode(body).decode()


def audio(ms: int = 40) -> dict:
    return {"serverContent": {"modelTurn": {"role": "model", "parts": [
        {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": pcm(ms)}}]}}}


def content(**kw: Any) -> dict:
    return {"serverContent": kw}


USAGE = {
    "promptTokenCount": 120, "responseTokenCount": 36, "thoughtsTokenCount": 60, "totalTokenCount": 156,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}, {"modality": "AUDIO", "tokenCount": 20}],
    "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 36}],
}

SCENARIOS: dict = {
    "setup_complete": [{"setupComplete": {}}],
    "setup_complete_session_id": [{"setupComplete": {"sessionId": "s-0001"}}],
    "resumption": [
        {"sessionResumptionUpdate": {"newHandle": "handle-1", "resumable": True}},
        {"sessionResumptionUpdate": {"resumable": False}},
        {"sessionResumptionUpdate": {}},
    ],
    "resumption_transparent": [
        {"sessionResumptionUpdate": {"newHandle": "handle-2", "resumable": True, "lastConsumedClientMessageIndex": "1234"}},
    ],
    "audio_turn": [
        content(inputTranscription={"text": "what time is it"}),
        audio(40), audio(200),
        content(outputTranscription={"text": "It is noon."}),
        audio(320),
        content(generationComplete=True),
        {"serverContent": {"turnComplete": True}, "usageMetadata": USAGE},
    ],
    "bundled_fields": [{
        "serverContent": {
            "modelTurn": {"parts": [
                {"text": "planning", "thought": True},
                {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": pcm(20)}},
                {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": pcm(20)}},
            ]},
            "outputTranscription": {"text": "Hello", "finished": True},
            "turnComplete": True,
        },
        "usageMetadata": {"totalTokenCount": 10},
    }],
    "interrupted": [audio(40), content(interrupted=True), content(turnComplete=True)],
    "interrupted_with_audio": [{"serverContent": {"interrupted": True, "modelTurn": {"parts": [
        {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": pcm(20)}}]}}}],
    "tool_call": [{"toolCall": {"functionCalls": [
        {"id": "call-1", "name": "read_scale", "args": {"unit": "kg"}},
        {"id": "call-2", "name": "open_gate", "args": {}},
    ]}}],
    "tool_call_no_args_no_id": [{"toolCall": {"functionCalls": [{"name": "ping"}]}}],
    "tool_cancel": [{"toolCallCancellation": {"ids": ["call-1", "call-2"]}}],
    "go_away": [{"goAway": {"timeLeft": "50s"}}, {"goAway": {"timeLeft": "9.500s"}}, {"goAway": {}}],
    "extended_thinking": [
        content(interactionStatus="IN_PROGRESS", turnComplete=True),
        {"toolCall": {"functionCalls": [{"id": "call-3", "name": "lookup", "args": {"sku": "A1"}}]}},
        audio(40),
        content(turnComplete=True, interactionStatus="IDLE"),
    ],
    "extended_thinking_top_level_status": [
        {"toolCall": {"functionCalls": [{"id": "call-4", "name": "lookup", "args": {}}]}, "interactionStatus": "IN_PROGRESS"},
    ],
    "turn_reasons": [
        content(turnComplete=True, turnCompleteReason="MALFORMED_FUNCTION_CALL"),
        content(turnComplete=True, turnCompleteReason="RESPONSE_REJECTED"),
        content(turnComplete=True, turnCompleteReason="NEED_MORE_INPUT", waitingForInput=True),
    ],
    "transcripts": [
        content(interimInputTranscription={"text": "turn on"}),
        content(interimInputTranscription={"text": "turn on the conveyor"}),
        content(inputTranscription={"text": "Turn on the conveyor.", "languageCode": "en-US", "finished": True}),
        content(outputTranscription={"text": " Done"}),
        content(outputTranscription={"finished": True}),
    ],
    "voice_activity": [
        {"voiceActivity": {"type": "ACTIVITY_START", "audioOffset": "1.250s"}},
        {"voiceActivity": {"type": "ACTIVITY_END", "audioOffset": "2.900s"}},
        {"voiceActivityDetectionSignal": {"vadSignalType": "VAD_SIGNAL_TYPE_SOS"}},
    ],
    "usage_only": [{"usageMetadata": USAGE}],
    "usage_vertex": [{"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12,
                                        "trafficType": "ON_DEMAND"}}],
    "empty_content": [content(), content(modelTurn={"parts": [{"text": ""}]})],
}


# --------------------------------------------------------------------------- self-test

SETUP = {"setup": {
    "model": "models/gemini-3.8-live",
    "generationConfig": {
        "responseModalities": ["AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
    },
    "systemInstruction": {"parts": [{"text": "You run a loading dock."}]},
    "tools": [{"functionDeclarations": [{
        "name": "read_scale", "description": "Reads the scale.", "behavior": "NON_BLOCKING",
        "parameters": {"type": "OBJECT", "properties": {"unit": {"type": "STRING", "enum": ["kg", "lb"]}}, "required": ["unit"]},
    }, {"name": "ping", "behavior": "BLOCKING", "parametersJsonSchema": {"type": "object", "properties": {}}}]}],
    "realtimeInputConfig": {
        "automaticActivityDetection": {"startOfSpeechSensitivity": "START_SENSITIVITY_LOW", "silenceDurationMs": 600, "prefixPaddingMs": 20},
        "activityHandling": "START_OF_ACTIVITY_INTERRUPTS", "turnCoverage": "TURN_INCLUDES_ONLY_ACTIVITY",
    },
    "sessionResumption": {}, "contextWindowCompression": {"triggerTokens": 25000, "slidingWindow": {"targetTokens": 8000}},
    "inputAudioTranscription": {"languageCodes": ["en-US"]}, "outputAudioTranscription": {},
    "historyConfig": {"initialHistoryInClientContent": True},
}}


def edited(path: str, value: Any) -> dict:
    """SETUP with one dotted path replaced."""
    msg = json.loads(json.dumps(SETUP))
    node = msg["setup"]
    keys = path.split(".")
    for key in keys[:-1]:
        node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
    if isinstance(node, list):
        node[int(keys[-1])] = value
    else:
        node[keys[-1]] = value
    return msg


def selftest_cases() -> list:
    chunk = base64.b64encode(b"\0\0" * 640).decode()
    mic = {"realtimeInput": {"audio": {"data": chunk, "mimeType": "audio/pcm;rate=16000"}}}
    good = [
        [SETUP, {"clientContent": {"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turnComplete": True}}, mic,
         {"realtimeInput": {"audioStreamEnd": True}}, {"realtimeInput": {"text": "note"}},
         {"toolResponse": {"functionResponses": [{"id": "c1", "name": "read_scale", "response": {"output": 12.5}, "scheduling": "WHEN_IDLE"}]}},
         {"contextUpdate": {"systemInstruction": {"parts": [{"text": "new"}]}, "tools": {"tools": []}}},
         {"clientContent": {"turnComplete": True}}],
        [edited("realtimeInputConfig.automaticActivityDetection", {"disabled": True}),
         {"realtimeInput": {"activityStart": {}}}, mic, {"realtimeInput": {"activityEnd": {}}}],
    ]
    bad = [
        ("snake_case envelope", [{"realtime_input": {"audio": {"data": chunk, "mimeType": "audio/pcm;rate=16000"}}}]),
        ("snake_case leaf", [SETUP, {"realtimeInput": {"audio": {"data": chunk, "mime_type": "audio/pcm;rate=16000"}}}]),
        ("unknown setup field", [edited("turnDetection", {})]),
        ("systemInstruction string", [edited("systemInstruction", "be brief")]),
        ("lower-case schema type", [edited("tools.0.functionDeclarations.0.parameters.type", "object")]),
        ("unknown schema key", [edited("tools.0.functionDeclarations.0.parameters.$schema", "x")]),
        ("enum on INTEGER", [edited("tools.0.functionDeclarations.0.parameters.properties.unit", {"type": "INTEGER", "enum": ["1"]})]),
        ("bad enum value", [edited("realtimeInputConfig.activityHandling", "INTERRUPT")]),
        ("docs typo INTERRUPTED", [SETUP, {"toolResponse": {"functionResponses": [{"id": "1", "name": "f", "response": {}, "scheduling": "INTERRUPTED"}]}}]),
        ("thinking level on 3.8", [edited("generationConfig.thinkingConfig", {"thinkingLevel": "LOW"})]),
        ("transparent on mldev", [edited("sessionResumption", {"transparent": True})]),
        ("bare model id", [edited("model", "gemini-3.8-live")]),
        ("two kinds in one", [{**SETUP, "realtimeInput": {"text": "x"}}]),
        ("turnComplete in realtimeInput", [SETUP, {"realtimeInput": {"text": "x", "turnComplete": True}}]),
        ("audio before setup", [mic]),
        ("second setup", [SETUP, SETUP]),
        ("activityStart with auto VAD", [SETUP, {"realtimeInput": {"activityStart": {}}}]),
        ("audio outside manual activity", [edited("realtimeInputConfig.automaticActivityDetection", {"disabled": True}), mic]),
        ("odd PCM length", [SETUP, {"realtimeInput": {"audio": {"data": base64.b64encode(b"abc").decode(), "mimeType": "audio/pcm;rate=16000"}}}]),
        ("unpadded base64", [SETUP, {"realtimeInput": {"audio": {"data": "AAE", "mimeType": "audio/pcm;rate=16000"}}}]),
        ("missing id", [SETUP, {"toolResponse": {"functionResponses": [{"name": "f", "response": {"output": 1}}]}}]),
        ("response not an object", [SETUP, {"toolResponse": {"functionResponses": [{"id": "1", "name": "f", "response": "ok"}]}}]),
        ("number as string", [edited("generationConfig.maxOutputTokens", "100")]),
        ("null field", [edited("proactivity", None)]),
        ("extended thinking blocking tool", [edited("model", "models/gemini-3.8-live-extended-thinking")]),
        ("media chunks", [SETUP, {"realtimeInput": {"mediaChunks": [{"data": chunk, "mimeType": "audio/pcm;rate=16000"}]}}]),
        ("not JSON", ["{oops"]),
        ("NaN", ['{"realtimeInput": {"text": NaN}}']),
    ]
    return [(f"good {i}", case, False) for i, case in enumerate(good)] + [(n, case, True) for n, case in bad]


def selftest() -> int:
    wrong = 0
    for name, case, want_error in selftest_cases():
        lint = ClientLint("mldev")
        found = []
        for msg in case:
            found += check_client(msg if isinstance(msg, str) else json.dumps(msg), lint)
        errors = [f for f in found if f.level == "error"]
        ok = bool(errors) == want_error
        wrong += not ok
        layers = "+".join(dict.fromkeys(f.layer for f in errors)) or "none"
        print(f"{'ok  ' if ok else 'FAIL'} {name}: {layers}" + (f" | {errors[0]}" if errors else ""))
    for name, msgs in SCENARIOS.items():
        backend = "vertex" if name.endswith("vertex") else "mldev"
        found = [f for m in msgs for f in check_server(json.dumps(m), backend)]
        errors = [f for f in found if f.level == "error"]
        wrong += bool(errors)
        notes = "; ".join(str(f) for f in found if f.level == "note")
        print(f"{'FAIL' if errors else 'ok  '} server {name}: {len(msgs)} message(s)" + "".join(f" | {e}" for e in errors) + (f" | {notes}" if notes else ""))
    for text in ('{"serverContent":{"turn_complete":true}}', '{"goAway":{"timeLeft":5}}', '{"toolCall":{"calls":[]}}', '{"hello":1}'):
        errors = [f for f in check_server(text, "mldev") if f.level == "error"]
        wrong += not errors
        print(f"{'ok  ' if errors else 'FAIL'} server bad {text}: {errors[0] if errors else 'accepted'}")
    print(f"google-genai {genai_version.__version__}, pydantic {pydantic.VERSION}: {'all as expected' if not wrong else f'{wrong} unexpected'}")
    return 1 if wrong else 0


# --------------------------------------------------------------------------- command line


def lines(name: str):
    handle = sys.stdin if name == "-" else open(name, encoding="utf-8")
    with handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield number, line.strip()


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("command", choices=["check", "check-server", "emit", "list", "fields", "selftest"])
    ap.add_argument("args", nargs="*")
    ap.add_argument("--backend", choices=["mldev", "vertex"], default="mldev")
    ap.add_argument("--no-lint", action="store_true")
    ap.add_argument("--stateless", action="store_true", help="lint each line as if it were alone after a setup")
    opts = ap.parse_intermixed_args()
    if opts.command == "selftest":
        return selftest()
    if opts.command == "list":
        print("\n".join(SCENARIOS))
        return 0
    if opts.command == "emit":
        for name in opts.args or [n for n in SCENARIOS if opts.backend == "vertex" or not n.endswith("vertex")]:
            if name not in SCENARIOS:
                print(f"unknown scenario {name!r}", file=sys.stderr)
                return 2
            for msg in SCENARIOS[name]:
                print(json.dumps(msg, separators=(",", ":")))
        return 0
    if len(opts.args) != 1:
        ap.print_usage(sys.stderr)
        return 2
    if opts.command == "fields":
        model = {"LiveClientSetup": WireSetup, "LiveClientMessage": WireClientMessage}.get(opts.args[0]) or getattr(T, opts.args[0], None)
        if model is None or not (is_model(model) or is_enum(model)):
            print(f"no SDK type {opts.args[0]!r}", file=sys.stderr)
            return 2
        for item in [m.value for m in model] if is_enum(model) else wire_fields(model):
            print(item)
        return 0
    bad = total = 0
    lint = None if opts.no_lint else ClientLint(opts.backend)
    for number, text in lines(opts.args[0]):
        total += 1
        if opts.command == "check-server":
            found = check_server(text, opts.backend)
        else:
            if opts.stateless and not opts.no_lint:
                lint = ClientLint(opts.backend)
                lint.setup = {}
            found = check_client(text, lint)
        bad += any(f.level == "error" for f in found)
        for f in found:
            print(f"line {number}: {f}")
    print(f"{total} message(s), {bad} with errors", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
