// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace retro::base
{

namespace fs = std::filesystem;

namespace
{

struct CloseFile
{
    void operator()(std::FILE* f) const { std::fclose(f); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

std::string reason() { return std::strerror(errno); }

Result<std::uint64_t> regularSize(const fs::path& path, std::uint64_t limit)
{
    std::error_code ec;
    const fs::file_status status = fs::status(path, ec);
    if (!fs::exists(status)) {
        return inputError("there is no such file; check the path", path.string());
    }
    if (!fs::is_regular_file(status)) {
        return inputError("this is not a file (a folder or a device); name a file", path.string());
    }
    const std::uint64_t size = fs::file_size(path, ec);
    if (ec) {
        return inputError("its size cannot be read: " + ec.message(), path.string());
    }
    if (size > limit) {
        return inputError(fmt::format("the file has {} bytes; at most {} are read for this kind of file", size, limit),
                          path.string());
    }
    return size;
}

fs::path temporaryBeside(const fs::path& path)
{
    return path.parent_path() /
           fmt::format(".{}.{}.tmp{}", path.stem().string(), ::getpid(), path.extension().string());
}

} // namespace

Result<std::vector<std::byte>> readFile(const fs::path& path, std::uint64_t limit)
{
    RETRO_TRY(const std::uint64_t size, regularSize(path, limit));
    const FilePointer file(std::fopen(path.c_str(), "rb"));
    if (!file) {
        return inputError("the file cannot be opened: " + reason(), path.string());
    }
    std::vector<std::byte> data(size);
    if (size > 0 && std::fread(data.data(), 1, size, file.get()) != size) {
        return inputError("the file ended early while it was read", path.string());
    }
    return data;
}

Result<std::string> readTextFile(const fs::path& path, std::uint64_t limit)
{
    RETRO_TRY(const std::vector<std::byte> data, readFile(path, limit));
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
}

Result<void> writeThrough(const fs::path& path, const std::function<Result<void>(const fs::path&)>& write)
{
    const fs::path temporary = temporaryBeside(path);
    std::error_code ec;
    Result<void> written = write(temporary);
    if (!written) {
        fs::remove(temporary, ec);
        return within(std::move(written).error(), path.string());
    }
    fs::rename(temporary, path, ec);
    if (ec) {
        std::error_code ignored;
        fs::remove(temporary, ignored);
        return outputError("the file cannot be put in place: " + ec.message(), path.string());
    }
    return {};
}

Result<void> writeFile(const fs::path& path, std::span<const std::byte> data)
{
    return writeThrough(path, [&](const fs::path& temporary) -> Result<void> {
        FilePointer file(std::fopen(temporary.c_str(), "wb"));
        if (!file) {
            return outputError("the file cannot be written: " + reason() +
                               "; choose a folder that exists and that you may write to");
        }
        const bool complete = data.empty() || std::fwrite(data.data(), 1, data.size(), file.get()) == data.size();
        if (!complete || std::fclose(file.release()) != 0) {
            return outputError("writing stopped: " + reason());
        }
        return {};
    });
}

Result<void> writeFile(const fs::path& path, std::string_view text)
{
    return writeFile(path, std::as_bytes(std::span(text.data(), text.size())));
}

Result<void> makeFolder(const fs::path& path)
{
    std::error_code ec;
    fs::create_directories(path, ec);
    if (ec || !fs::is_directory(path)) {
        return outputError("the folder cannot be made: " +
                               (ec ? ec.message() : std::string("a file of that name exists")),
                           path.string());
    }
    return {};
}

} // namespace retro::base
