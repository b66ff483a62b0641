// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxexternal.h"

#include "core/base/inputfiles.h"
#include "core/formats/insidefolder.h"
#include "core/formats/onnxschema.pb.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

namespace retro::formats
{

namespace fs = std::filesystem;

using base::inputError;
using base::Result;
using onnxschema::TensorProto;

namespace
{

std::string field(std::string_view key) { return fmt::format("field 'external_data.{}'", key); }

std::optional<std::string> entry(const TensorProto& proto, std::string_view key)
{
    for (const auto& pair : proto.external_data()) {
        if (pair.key() == key) {
            return pair.value();
        }
    }
    return std::nullopt;
}

Result<std::uint64_t> number(const TensorProto& proto, std::string_view key, std::uint64_t fallback)
{
    const std::optional<std::string> text = entry(proto, key);
    if (!text) {
        return fallback;
    }
    std::uint64_t value = 0;
    const char* end = text->data() + text->size();
    const auto [at, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc() || at != end) {
        return inputError("'" + *text + "' is not a number of bytes", field(key));
    }
    return value;
}

/// The real path of a location, links followed, checked to lie in the folder.
Result<fs::path> resolve(const std::string& location, const fs::path& folder)
{
    std::error_code ec;
    const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, ec);
    const fs::path file = ec ? fs::path() : fs::canonical(root / location, ec);
    if (ec || !fs::is_regular_file(file)) {
        return inputError(fmt::format("the model keeps its weights in the file '{}', which is not there; put it beside "
                                      "the model",
                                      location),
                          field("location"));
    }
    if (!isInsideFolder(location, root)) {
        return inputError(fmt::format("the file '{}' is a link to a place outside the model's folder; copy the file "
                                      "there instead",
                                      location),
                          field("location"));
    }
    return file;
}

/// Each key once, and a location that a file can have.
Result<void> checkEntries(const TensorProto& proto)
{
    std::set<std::string_view> keys;
    for (const auto& pair : proto.external_data()) {
        if (!keys.insert(pair.key()).second) {
            return inputError("it is given twice; it must be given once", field(pair.key()));
        }
        if (pair.key() == "location" && pair.value().find('\0') != std::string::npos) {
            return inputError("the name of the file has a zero byte in it, which no file can have", field("location"));
        }
    }
    return {};
}

Result<fs::path> fileOf(const TensorProto& proto, const fs::path& folder)
{
    RETRO_CHECK(checkEntries(proto));
    const std::optional<std::string> location = entry(proto, "location");
    if (!location || location->empty()) {
        return inputError("the data is in another file but that file is not named", field("location"));
    }
    if (leavesFolder(*location)) {
        return inputError(fmt::format("the path '{}' is not inside the model's folder; only files beside or below the "
                                      "model are read",
                                      *location),
                          field("location"));
    }
    return resolve(*location, folder);
}

} // namespace

Result<ExternalData> findExternalData(const TensorProto& proto, const fs::path& folder, std::uint64_t bytes)
{
    RETRO_TRY(const fs::path file, fileOf(proto, folder));
    RETRO_CHECK(base::noteRead(file)); // also where its bytes are read later, or never
    RETRO_TRY(const std::uint64_t offset, number(proto, "offset", 0));
    RETRO_TRY(const std::uint64_t length, number(proto, "length", bytes));
    if (length != bytes) {
        return inputError(fmt::format("it says {} bytes but the shape needs {}", length, bytes), field("length"));
    }
    std::error_code ec;
    const std::uint64_t size = fs::file_size(file, ec);
    if (ec || offset > size || bytes > size - offset) {
        return inputError(fmt::format("the file '{}' has {} bytes but the tensor lies at bytes {} to {}; it was "
                                      "probably not fetched whole",
                                      file.filename().string(), ec ? 0 : size, offset, offset + bytes),
                          field("location"));
    }
    return ExternalData{file, offset};
}

bool lacksExternalData(const TensorProto& proto, const fs::path& folder, std::uint64_t bytes)
{
    if (!checkEntries(proto).ok()) {
        return false;
    }
    const std::optional<std::string> location = entry(proto, "location");
    const Result<std::uint64_t> offset = number(proto, "offset", 0);
    const Result<std::uint64_t> length = number(proto, "length", bytes);
    if (!location || location->empty() || leavesFolder(*location) || !offset || !length || *length != bytes) {
        return false;
    }
    std::error_code ec;
    const fs::path file = (folder.empty() ? fs::path(".") : folder) / *location;
    if (!fs::exists(fs::symlink_status(file, ec))) {
        return true;
    }
    if (!fileOf(proto, folder)) {
        return !fs::exists(file, ec); // a link to nothing; anything else there is no weight file
    }
    const std::uint64_t size = fs::file_size(file, ec);
    return !ec && (*offset > size || bytes > size - *offset);
}

Result<void> readExternalData(const ExternalData& place, std::span<std::byte> target)
{
    std::ifstream file(place.file, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(place.offset));
    file.read(reinterpret_cast<char*>(target.data()), static_cast<std::streamsize>(target.size()));
    if (!file) {
        return inputError("the file with the weights cannot be read: '" + place.file.string() + "'");
    }
    return {};
}

} // namespace retro::formats
