// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npz.h"

#include "core/base/file.h"
#include "core/base/mappedfile.h"
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

// Arrays beyond this size are packed to no less than one in so many bytes.
constexpr std::uint64_t kLargeArray = 256ULL << 20U;
constexpr std::uint64_t kMostTimesPacked = 200;

// The header names a type that no tensor has: NumPy's texts, objects and records.
bool isOtherType(const base::Error& error) { return error.where.find("field 'descr'") != std::string::npos; }

/// Puts the arrays of an archive together.
class ArchiveReader
{
public:
    ArchiveReader(bool isStrict, const NpzChoice& choice) : m_isStrict(isStrict), m_choice(choice) {}

    Result<void> add(const ZipEntry& entry)
    {
        if (!entry.name.ends_with(kEnding)) {
            m_contents.skipped.push_back(fmt::format("{}: it is no array (.npy)", entry.name));
            return {};
        }
        const std::string name = entry.name.substr(0, entry.name.size() - kEnding.size());
        ZipReader file(entry);
        Result<NpyReader> array =
            NpyReader::open([&file](std::span<std::byte> target) { return file.read(target); }, entry.size);
        if (!array && !m_isStrict && isOtherType(array.error())) {
            m_contents.skipped.push_back(fmt::format("{}: {}", entry.name, array.error().message));
            return {};
        }
        if (!array) {
            return inFile(entry, std::move(array).error());
        }
        if (const auto reason = m_choice ? m_choice(name, array->header()) : std::nullopt) {
            if (!reason->empty()) {
                m_contents.skipped.push_back(fmt::format("{}: {}", entry.name, *reason));
            }
            return {};
        }
        return read(entry, name, *array, file);
    }

    [[nodiscard]] NpzContents take() { return std::move(m_contents); }

private:
    static base::Error inFile(const ZipEntry& entry, base::Error error)
    {
        const std::string place = fmt::format("file \"{}\"", entry.name);
        return error.where.starts_with(place) ? std::move(error) : base::within(std::move(error), place);
    }

    Result<void> read(const ZipEntry& entry, const std::string& name, NpyReader& array, ZipReader& file)
    {
        if (array.bytes() > kMaxNpzBytes - m_bytes) {
            return base::inputError(fmt::format("its arrays have more than {} bytes together", kMaxNpzBytes));
        }
        if (array.bytes() > kLargeArray && array.bytes() / kMostTimesPacked > entry.packed.size()) {
            return inFile(entry, base::inputError(fmt::format("{} bytes would be made of {}, which no data are packed "
                                                              "to that are worth reading",
                                                              array.bytes(), entry.packed.size())));
        }
        m_bytes += array.bytes();
        Result<Tensor> tensor = array.elements();
        if (!tensor) {
            return inFile(entry, std::move(tensor).error());
        }
        RETRO_CHECK(file.finish());
        if (!m_contents.tensors.emplace(name, std::move(tensor).value()).second) {
            return base::inputError(fmt::format("the array \"{}\" is there twice", name));
        }
        return {};
    }

    bool m_isStrict;
    const NpzChoice& m_choice;
    std::uint64_t m_bytes = 0;
    NpzContents m_contents;
};

Result<NpzContents> parseArchive(std::span<const std::byte> data, bool isStrict, const NpzChoice& choice)
{
    RETRO_TRY(const std::vector<ZipEntry> entries, parseZip(data));
    ArchiveReader reader(isStrict, choice);
    for (const ZipEntry& entry : entries) {
        RETRO_CHECK(reader.add(entry));
    }
    return reader.take();
}

/// The file, of which only what is read comes into memory.
Result<std::shared_ptr<const base::MappedFile>> mapArchive(const std::filesystem::path& path)
{
    RETRO_TRY(const base::FileReader file, base::FileReader::open(path, kMaxNpyBytes));
    return base::MappedFile::open(path, 0, file.size());
}

} // namespace

Result<NamedTensors> parseNpz(std::span<const std::byte> data, const std::string& where, const NpzChoice& choice)
{
    RETRO_TRY(auto contents, base::within(parseArchive(data, true, choice), where));
    if (contents.tensors.empty()) {
        return base::inputError("there is no array in it; save them with numpy.savez(file, **{name: array})", where);
    }
    return std::move(contents.tensors);
}

Result<NpzContents> parseNpzNumbers(std::span<const std::byte> data, const std::string& where, const NpzChoice& choice)
{
    Result<NpzContents> contents = parseArchive(data, false, choice);
    return contents ? std::move(contents) : base::within(std::move(contents).error(), where);
}

Result<NamedTensors> readNpz(const std::filesystem::path& path, const NpzChoice& choice)
{
    RETRO_TRY(const auto file, mapArchive(path));
    RETRO_TRY(NamedTensors tensors, parseNpz(file->data(), path.string(), choice));
    RETRO_CHECK(base::checkMappedFiles());
    return tensors;
}

Result<NpzContents> readNpzNumbers(const std::filesystem::path& path, const NpzChoice& choice)
{
    RETRO_TRY(const auto file, mapArchive(path));
    RETRO_TRY(NpzContents contents, parseNpzNumbers(file->data(), path.string(), choice));
    RETRO_CHECK(base::checkMappedFiles());
    return contents;
}

} // namespace retro::tensor
