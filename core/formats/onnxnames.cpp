// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxnames.h"

#include "core/base/visibletext.h"
#include "core/formats/onnxschema.pb.h"

#include <algorithm>
#include <vector>

namespace retro::formats
{

namespace
{

constexpr std::string_view kScopeListKey = "pkg.torch.onnx.name_scopes";

/// Smallest code point that needs so many bytes.
char32_t smallestOf(std::size_t length) { return length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000; }

bool isWellFormed(std::string_view sequence)
{
    char32_t point = static_cast<unsigned char>(sequence[0]) & (0x7fU >> sequence.size());
    for (const char c : sequence.substr(1)) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xc0U) != 0x80U) {
            return false;
        }
        point = (point << 6) | (byte & 0x3fU);
    }
    const bool isSurrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= smallestOf(sequence.size()) && point <= 0x10ffff && !isSurrogate;
}

std::string slashed(std::string_view dotted)
{
    std::string path(dotted);
    std::replace(path.begin(), path.end(), '.', '/');
    return path;
}

/// "a: A/a.b: B/conv: aten.conv2d" → "a/b"; a text without types is a plain path.
std::string fromNamespace(std::string_view text)
{
    if (text.find(": ") == std::string_view::npos) {
        return std::string(text);
    }
    const std::size_t last = text.rfind('/');
    if (last == std::string_view::npos) {
        return {};
    }
    std::string_view module = text.substr(0, last);
    module = module.substr(module.rfind('/') + 1);
    return slashed(module.substr(0, module.find(':')));
}

/// "['', 'a', 'a.b', 'conv']" → "a/b".
std::string fromList(std::string_view text)
{
    std::vector<std::string_view> names;
    const char quote = text.find('\'') != std::string_view::npos ? '\'' : '"';
    for (std::size_t at = text.find(quote); at != std::string_view::npos;) {
        const std::size_t end = text.find(quote, at + 1);
        if (end == std::string_view::npos) {
            break;
        }
        names.push_back(text.substr(at + 1, end - at - 1));
        at = text.find(quote, end + 1);
    }
    return names.size() < 2 ? std::string() : slashed(names[names.size() - 2]);
}

} // namespace

bool isUtf8(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = base::utf8LengthBy(static_cast<unsigned char>(text[0]));
        if (length == 0 || length > text.size() || (length > 1 && !isWellFormed(text.substr(0, length)))) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::string placeOf(const onnxschema::NodeProto& node)
{
    const std::string place = !node.name().empty()     ? "node '" + node.name() + "'"
                              : node.output_size() > 0 ? "node with output '" + node.output(0) + "'"
                                                       : std::string("node without name");
    return place + " (" + node.op_type() + ")";
}

std::string scopeFromName(std::string_view name)
{
    const std::size_t last = name.rfind('/');
    if (last == std::string_view::npos) {
        return {};
    }
    const std::string_view path = name.substr(0, last);
    return std::string(path.starts_with('/') ? path.substr(1) : path);
}

bool isScopeKey(std::string_view key) { return key == kScopeListKey || key == kScopeKey; }

bool hasScope(const onnxschema::NodeProto& node)
{
    const auto& entries = node.metadata_props();
    return std::any_of(entries.begin(), entries.end(), [](const auto& entry) { return isScopeKey(entry.key()); });
}

std::map<std::string, std::string> metadataOf(const onnxschema::NodeProto& node)
{
    std::map<std::string, std::string> entries;
    for (const auto& entry : node.metadata_props()) {
        if (!isScopeKey(entry.key()) && isUtf8(entry.key()) && isUtf8(entry.value())) {
            entries[entry.key()] = entry.value();
        }
    }
    return entries;
}

std::string scopeOf(const onnxschema::NodeProto& node)
{
    for (const auto& entry : node.metadata_props()) {
        if (entry.key() == kScopeListKey) {
            return fromList(entry.value());
        }
        if (entry.key() == kScopeKey) {
            return fromNamespace(entry.value());
        }
    }
    return scopeFromName(node.name());
}

} // namespace retro::formats
