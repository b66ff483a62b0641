// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npz.h"

#include "core/base/file.h"
#include "core/tensor/npy.h"
#include "core/tensor/zip.h"

#include <fmt/format.h>

#include <string_view>

namespace retro::tensor
{

using base::Result;

namespace
{

constexpr std::string_view kEnding = ".npy";

// The header names a type that no tensor has: NumPy's texts, objects and records.
bool isOtherType(const base::Error& error) { return error.where.find("field 'descr'") != std::string::npos; }

/// Puts the arrays of an archive together.
class ArchiveReader
{
public:
    explicit ArchiveReader(bool isStrict) : m_isStrict(isStrict) {}

    Result<void> add(const ZipEntry& entry)
    {
        if (!entry.name.ends_with(kEnding)) {
            m_contents.skipped.push_back(fmt::format("{}: it is no array (.npy)", entry.name));
            return {};
        }
        RETRO_TRY(const std::vector<std::byte> file, unpack(entry));
        Result<Tensor> tensor = parseNpy(file, fmt::format("file \"{}\"", entry.name));
        if (!tensor && !m_isStrict && isOtherType(tensor.error())) {
            m_contents.skipped.push_back(fmt::format("{}: {}", entry.name, tensor.error().message));
            return {};
        }
        if (!tensor) {
            return std::move(tensor).error();
        }
        const std::string name = entry.name.substr(0, entry.name.size() - kEnding.size());
        if (!m_contents.tensors.emplace(name, std::move(tensor).value()).second) {
            return base::inputError(fmt::format("the array \"{}\" is there twice", name));
        }
        return {};
    }

    [[nodiscard]] NpzContents take() { return std::move(m_contents); }

private:
    bool m_isStrict;
    NpzContents m_contents;
};

Result<NpzContents> parseArchive(std::span<const std::byte> data, bool isStrict)
{
    RETRO_TRY(const std::vector<ZipEntry> entries, parseZip(data));
    ArchiveReader reader(isStrict);
    for (const ZipEntry& entry : entries) {
        RETRO_CHECK(reader.add(entry));
    }
    return reader.take();
}

} // namespace

Result<NamedTensors> parseNpz(std::span<const std::byte> data, const std::string& where)
{
    Result<NpzContents> contents = parseArchive(data, true);
    if (!contents) {
        return base::within(std::move(contents).error(), where);
    }
    if (contents->tensors.empty()) {
        return base::inputError("there is no array in it; save them with numpy.savez(file, **{name: array})", where);
    }
    return std::move(contents->tensors);
}

Result<NpzContents> parseNpzNumbers(std::span<const std::byte> data, const std::string& where)
{
    Result<NpzContents> contents = parseArchive(data, false);
    return contents ? std::move(contents) : base::within(std::move(contents).error(), where);
}

Result<NamedTensors> readNpz(const std::filesystem::path& path)
{
    RETRO_TRY(const std::vector<std::byte> data, base::readFile(path, kMaxNpyBytes));
    return parseNpz(data, path.string());
}

Result<NpzContents> readNpzNumbers(const std::filesystem::path& path)
{
    RETRO_TRY(const std::vector<std::byte> data, base::readFile(path, kMaxNpyBytes));
    return parseNpzNumbers(data, path.string());
}

} // namespace retro::tensor
