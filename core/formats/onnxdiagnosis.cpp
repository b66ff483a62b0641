// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxdiagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace retro::formats
{

using base::Error;
using base::inputError;

namespace
{

enum class WireType : std::uint8_t { Varint = 0, Bytes = 2, Other = 7 };

struct KnownField
{
    std::uint64_t number;
    std::string_view name;
    WireType type;
};

/// The fields of a model that a file can begin with or be cut off in.
constexpr std::array<KnownField, 12> kFields{{{1, "ir_version", WireType::Varint},
                                              {2, "producer_name", WireType::Bytes},
                                              {3, "producer_version", WireType::Bytes},
                                              {4, "domain", WireType::Bytes},
                                              {5, "model_version", WireType::Varint},
                                              {6, "doc_string", WireType::Bytes},
                                              {7, "graph", WireType::Bytes},
                                              {8, "opset_import", WireType::Bytes},
                                              {14, "metadata_props", WireType::Bytes},
                                              {20, "training_info", WireType::Bytes},
                                              {25, "functions", WireType::Bytes},
                                              {26, "configuration", WireType::Bytes}}};

struct OtherFormat
{
    std::string_view mark;
    std::size_t at;
    std::string_view text;
};

constexpr std::array<OtherFormat, 11> kOthers{
    {{"version https://git-lfs", 0,
      "this is a Git LFS pointer, not the model itself; fetch the file with 'git lfs pull'"},
     {"<!DOCTYPE", 0, "this is a web page, not a model; the download link led to a page: download the file itself"},
     {"<!doctype", 0, "this is a web page, not a model; the download link led to a page: download the file itself"},
     {"<html", 0, "this is a web page, not a model; the download link led to a page: download the file itself"},
     {"PK\x03\x04", 0,
      "this is a zip archive (PyTorch .pt and .pth files are), not an ONNX model; unpack it, or export the model with "
      "torch.onnx.export; relevance of another tool (.npz) is compared with a run"},
     {"\x80\x02", 0, "this is a Python pickle, not an ONNX model; export the model with torch.onnx.export"},
     {"\x89HDF", 0, "this is an HDF5 file (Keras .h5), not an ONNX model; convert it with tf2onnx"},
     {"TFL3", 4, "this is a TensorFlow Lite file, not an ONNX model; convert it with tf2onnx"},
     {std::string_view("\0\0\0\0{\"", 6), 4, // behind the low half of the length of its list
      "this is a .safetensors file: weights without a graph; 'python3 -m retrograde.capture.checkpoint FOLDER' writes "
      "the graph of a checkpoint beside them"},
     {"\x1f\x8b", 0, "this is a gzip archive, not an ONNX model; unpack it first"},
     {"\x93NUMPY", 0, "this is a NumPy array, not an ONNX model; it can serve as an input"}}};

/// Walks the outermost fields without decoding them.
class Outline
{
public:
    explicit Outline(std::span<const std::byte> data) : m_data(data) {}

    Error explain()
    {
        while (m_at < m_data.size()) {
            if (std::optional<Error> error = field()) {
                return *std::move(error);
            }
        }
        if (m_hasGraph) {
            return inputError("the file is damaged: it has the outline of an ONNX model but its graph cannot be "
                              "decoded; fetch or export it again");
        }
        return cutOff("before its graph");
    }

private:
    std::optional<Error> field()
    {
        const std::size_t begin = m_at;
        std::uint64_t tag = 0;
        if (!varint(tag)) {
            return unfinished(begin, "inside a field's number");
        }
        const auto* known = std::find_if(kFields.begin(), kFields.end(), [&](const KnownField& f) {
            return f.number == tag >> 3 && static_cast<std::uint64_t>(f.type) == (tag & 7U);
        });
        if (known == kFields.end()) {
            return damaged(begin);
        }
        m_hasGraph = m_hasGraph || known->name == "graph";
        return content(*known, begin);
    }

    std::optional<Error> content(const KnownField& known, std::size_t begin)
    {
        std::uint64_t number = 0;
        if (!varint(number)) {
            return unfinished(begin, fmt::format("inside its field '{}'", known.name));
        }
        if (known.type == WireType::Varint) {
            return std::nullopt;
        }
        if (number > m_data.size() - m_at) {
            return cutOff(fmt::format("but its field '{}' goes on for {} bytes more", known.name,
                                      number - (m_data.size() - m_at)));
        }
        m_at += number;
        return std::nullopt;
    }

    /// A number of up to ten bytes; false when the data ends in it or it has more.
    bool varint(std::uint64_t& value)
    {
        for (unsigned shift = 0; shift < 70 && m_at < m_data.size(); shift += 7) {
            const auto byte = std::to_integer<std::uint64_t>(m_data[m_at++]);
            value |= shift < 64 ? (byte & 0x7fU) << shift : 0;
            if (byte < 0x80) {
                return true;
            }
        }
        return false;
    }

    Error unfinished(std::size_t begin, const std::string& where) const
    {
        return m_at == m_data.size() ? cutOff(where) : damaged(begin);
    }

    Error cutOff(const std::string& where) const
    {
        return inputError(
            fmt::format("the file ends at byte {} {}: it was cut off, probably by an interrupted download; "
                        "fetch or export it again",
                        m_data.size(), where));
    }

    static Error damaged(std::size_t at)
    {
        return inputError(fmt::format("this is not an ONNX model: byte {} begins nothing that a model can hold; check "
                                      "that it is the right file, or export it again",
                                      at));
    }

    std::span<const std::byte> m_data;
    std::size_t m_at = 0;
    bool m_hasGraph = false;
};

bool isText(std::string_view data)
{
    return std::none_of(data.begin(), data.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') || c == 0x7f;
    });
}

/// What is looked at to tell formats apart.
std::string_view beginningOf(std::span<const std::byte> data)
{
    return {reinterpret_cast<const char*>(data.data()), std::min<std::size_t>(data.size(), 4096)};
}

} // namespace

bool beginsAsText(std::span<const std::byte> data) { return !data.empty() && isText(beginningOf(data)); }

Error explainUnreadable(std::span<const std::byte> data)
{
    if (data.empty()) {
        return inputError("the file is empty; fetch or export it again");
    }
    const std::string_view text = beginningOf(data);
    for (const OtherFormat& other : kOthers) {
        if (text.size() >= other.at && text.substr(other.at).starts_with(other.mark)) {
            return inputError(std::string(other.text));
        }
    }
    if (isText(text)) {
        return inputError("this is a text file, not an ONNX model; ONNX models are binary files, made for example by "
                          "torch.onnx.export, or texts: protobuf's text format, its JSON, or the ONNX text form");
    }
    return Outline(data).explain();
}

} // namespace retro::formats
