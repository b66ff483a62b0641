// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// What a file of text that holds a model is.
enum class TextForm : std::uint8_t {
    None,      ///< no text, or none that holds a model
    GraphJson, ///< our graph JSON: an object whose "format" begins with retrograde-graph
    OtherJson, ///< another object in JSON
    OnnxJson,  ///< protobuf's JSON mapping of a ModelProto
    TextProto, ///< protobuf's text format of a ModelProto
    OnnxText   ///< the ONNX text form, files called .onnxtxt
};

/// Largest model in a text form that is read, in bytes; one of millions of nodes or numbers is refused earlier.
inline constexpr std::uint64_t kMaxTextModelBytes = 128ULL << 20U;

/// Tells by the beginning of the data, and in JSON by the outermost names, never by a file's ending.
[[nodiscard]] TextForm textFormOf(std::span<const std::byte> data);
/// "ONNX as JSON" and so on, for messages.
[[nodiscard]] std::string_view nameOf(TextForm form);

/// Reads a model in one of ONNX's text forms. Fields that the schema does not list are skipped, as in binary files.
/// Errors (Input, without the file): what is wrong and where (line and column), no graph, more than is read.
[[nodiscard]] base::Result<void> parseTextModel(std::span<const std::byte> data, TextForm form,
                                                onnxschema::ModelProto& model);

} // namespace retro::formats
