// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxmetadata.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>

namespace retro::formats
{

namespace
{

constexpr std::uint64_t kMetadataField = 14; // of ModelProto
constexpr std::uint64_t kMostEntryBytes = 16U << 20;
constexpr int kMostEntries = 10'000;

std::optional<std::uint64_t> varint(std::istream& in)
{
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const int byte = in.get();
        if (byte == std::istream::traits_type::eof()) {
            return std::nullopt;
        }
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    return std::nullopt;
}

bool passOver(std::istream& in, std::uint64_t bytes)
{
    return static_cast<bool>(in.seekg(static_cast<std::streamoff>(bytes), std::ios::cur));
}

/// Passes over the value of a field, or has `take` read it. False where the bytes are no value.
template <class Take>
bool overValue(std::istream& in, std::uint64_t key, const Take& take)
{
    switch (key & 7U) {
    case 0:
        return varint(in).has_value();
    case 1:
        return passOver(in, 8);
    case 5:
        return passOver(in, 4);
    case 2: {
        const auto length = varint(in);
        if (!length || *length > static_cast<std::uint64_t>(INT64_MAX)) {
            return false;
        }
        return take(key >> 3U, *length) || passOver(in, *length);
    }
    default:
        return false;
    }
}

/// Goes over the fields of a message; `take` gets the number of each that has a length, with that length, and says
/// whether it has read it. False where the bytes are no message.
template <class Take>
bool overFields(std::istream& in, const Take& take)
{
    for (int i = 0; i < kMostEntries && in.peek() != std::istream::traits_type::eof(); ++i) {
        const auto key = varint(in);
        if (!key || !overValue(in, *key, take)) {
            return false;
        }
    }
    return true;
}

std::string bytesOf(std::istream& in, std::uint64_t length)
{
    std::string bytes(static_cast<std::size_t>(length), '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(length));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return bytes;
}

/// Adds what the bytes of an entry say, where they are one.
void readEntry(const std::string& bytes, std::map<std::string, std::string>& found)
{
    std::istringstream entry(bytes);
    std::string key;
    std::string value;
    const bool isEntry = overFields(entry, [&](std::uint64_t part, std::uint64_t size) {
        if ((part != 1 && part != 2) || size > kMostEntryBytes) {
            return false;
        }
        (part == 1 ? key : value) = bytesOf(entry, size);
        return true;
    });
    if (isEntry && !key.empty()) {
        found[key] = value;
    }
}

} // namespace

std::map<std::string, std::string> onnxMetadata(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    std::map<std::string, std::string> found;
    const bool isWhole = file && overFields(file, [&](std::uint64_t field, std::uint64_t length) {
                             if (field != kMetadataField || length > kMostEntryBytes) {
                                 return false;
                             }
                             readEntry(bytesOf(file, length), found);
                             return true;
                         });
    return isWhole ? found : std::map<std::string, std::string>();
}

std::string explanationText(const std::filesystem::path& path)
{
    const std::map<std::string, std::string> said = onnxMetadata(path);
    const auto of = [&](const char* key) {
        const auto at = said.find(key);
        return at == said.end() ? std::string() : at->second;
    };
    const std::string composite = of("retrograde.composite");
    if (composite.empty() || !said.contains("retrograde.rules")) {
        return {};
    }
    return fmt::format("this file is an explanation: a model and its relevance under {} from {} (start {}, written by "
                       "Retrograde {}); its outputs relevance/… are found by running it",
                       composite, of("retrograde.target"), of("retrograde.start"), of("retrograde.version"));
}

} // namespace retro::formats
