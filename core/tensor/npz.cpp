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

Result<NamedTensors> parseArchive(std::span<const std::byte> data)
{
    RETRO_TRY(const std::vector<ZipEntry> entries, parseZip(data));
    NamedTensors tensors;
    for (const ZipEntry& entry : entries) {
        if (!entry.name.ends_with(kEnding)) {
            continue;
        }
        RETRO_TRY(const std::vector<std::byte> file, unpack(entry));
        RETRO_TRY(Tensor tensor, parseNpy(file, fmt::format("file \"{}\"", entry.name)));
        const std::string name = entry.name.substr(0, entry.name.size() - kEnding.size());
        if (!tensors.emplace(name, std::move(tensor)).second) {
            return base::inputError(fmt::format("the array \"{}\" is there twice", name));
        }
    }
    if (tensors.empty()) {
        return base::inputError("there is no array in it; save them with numpy.savez(file, **{name: array})");
    }
    return tensors;
}

} // namespace

Result<NamedTensors> parseNpz(std::span<const std::byte> data, const std::string& where)
{
    Result<NamedTensors> tensors = parseArchive(data);
    return tensors ? std::move(tensors) : base::within(std::move(tensors).error(), where);
}

Result<NamedTensors> readNpz(const std::filesystem::path& path)
{
    RETRO_TRY(const std::vector<std::byte> data, base::readFile(path, kMaxNpyBytes));
    return parseNpz(data, path.string());
}

} // namespace retro::tensor
