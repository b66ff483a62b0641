// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/batch.h"

#include "core/base/file.h"
#include "core/engine/input/inputs.h"
#include "core/engine/model/uniquenames.h"
#include "core/formats/picturefile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <span>
#include <sstream>

namespace retro::engine
{

namespace fs = std::filesystem;

namespace
{

using base::Result;

/// Files beside the folders of the items, whose names no item can have.
constexpr std::array kOwnFiles{"index.csv"};

bool endsLike(const fs::path& path, std::span<const std::string> endings)
{
    std::string extension = path.extension().string();
    std::ranges::transform(extension, extension.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::ranges::find(endings, extension) != endings.end();
}

Result<std::vector<fs::path>> filesOf(const fs::path& folder)
{
    static const std::vector<std::string> kEndings = inputEndings();
    static const std::array kTextEndings{std::string(".txt")};
    std::error_code ec;
    std::vector<fs::path> files;
    std::vector<fs::path> texts;
    for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
        if (at->is_regular_file() && endsLike(at->path(), kEndings)) {
            files.push_back(at->path());
        } else if (at->is_regular_file() && endsLike(at->path(), kTextEndings)) {
            texts.push_back(at->path());
        }
    }
    if (ec) {
        return base::inputError("the folder cannot be read: " + ec.message(), folder.string());
    }
    if (files.empty()) { // beside others a text is likely about them
        files.swap(texts);
    }
    std::ranges::sort(files);
    if (files.empty()) {
        return base::inputError("the folder has no inputs (.npy, .npz, .pb, pictures, or texts: .txt)",
                                folder.string());
    }
    return files;
}

std::string trimmed(const std::string& line)
{
    const auto first = line.find_first_not_of(" \t\r");
    const auto last = line.find_last_not_of(" \t\r");
    return first == std::string::npos ? std::string() : line.substr(first, last - first + 1);
}

Result<std::vector<fs::path>> filesIn(const fs::path& list)
{
    RETRO_TRY(const std::string text, base::readTextFile(list, kMostListBytes));
    std::vector<fs::path> files;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        line = trimmed(line);
        if (!line.empty() && line.front() != '#') {
            files.push_back(list.parent_path() / line);
        }
    }
    if (files.empty()) {
        return base::inputError("the list names no inputs; write one file per line", list.string());
    }
    return files;
}

bool isList(const std::string& source) { return source.size() > 1 && source.front() == '@'; }

bool isFolder(const std::string& source)
{
    std::error_code ec;
    return fs::is_directory(source, ec);
}

std::vector<BatchItem> itemsOf(const std::vector<fs::path>& files, const std::vector<std::string>& texts,
                               std::size_t many, const std::string& name)
{
    std::vector<BatchItem> items;
    UniqueNames names;
    for (const char* file : kOwnFiles) {
        names.reserve(file);
    }
    for (const fs::path& file : files) {
        BatchItem item{names.of(file.stem().string()), texts, file};
        item.sources[many] = (name.empty() ? std::string() : name + "=") + file.string();
        items.push_back(std::move(item));
    }
    return items;
}

} // namespace

std::vector<std::string> inputEndings()
{
    std::vector<std::string> endings{".npy", ".npz", ".pb"};
    endings.insert(endings.end(), formats::kPictureEndings.begin(), formats::kPictureEndings.end());
    return endings;
}

Result<std::optional<std::vector<BatchItem>>> findBatch(const std::vector<std::string>& texts,
                                                        const graph::Graph& graph)
{
    std::optional<std::size_t> many;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string source = parseInput(texts[i], graph).source;
        if (!isList(source) && !isFolder(source)) {
            continue;
        }
        if (many) {
            return base::usageError("only one input can be a folder or a list", "--input " + texts[i]);
        }
        many = i;
    }
    if (!many) {
        std::vector<fs::path> files;
        std::ranges::transform(texts, std::back_inserter(files),
                               [&](const std::string& text) { return fs::path(parseInput(text, graph).source); });
        const bool isBatch = files.size() > 1 && graph.inputs().size() == 1 &&
                             std::ranges::all_of(files, [](const fs::path& file) { return fs::is_regular_file(file); });
        return isBatch ? std::optional(itemsOf(files, {{}}, 0, {})) : std::nullopt;
    }
    const InputSource chosen = parseInput(texts[*many], graph);
    RETRO_TRY(const std::vector<fs::path> files,
              isList(chosen.source) ? filesIn(chosen.source.substr(1)) : filesOf(chosen.source));
    return std::optional(itemsOf(files, texts, *many, chosen.name));
}

Result<Shard> parseShard(const std::string& text)
{
    constexpr std::size_t kMost = 1'000'000;
    Shard shard;
    const char* end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, shard.number);
    const bool isSplit = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
    const auto count = isSplit ? std::from_chars(number.ptr + 1, end, shard.count) : number;
    const bool isGood = isSplit && count.ec == std::errc() && count.ptr == end && shard.number >= 1 &&
                        shard.number <= shard.count && shard.count <= kMost;
    return isGood
               ? Result<Shard>(shard)
               : Result<Shard>(base::usageError("a shard is i/n, the i-th of n parts: 1/4, 2/4, …", "--shard " + text));
}

} // namespace retro::engine
