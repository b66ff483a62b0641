// SPDX-License-Identifier: Apache-2.0
#include "core/rows/hdf5rows.h"

#ifndef RETRO_WITH_HDF5

namespace retro::rows
{

namespace
{

base::Error builtWithout(const std::filesystem::path& file)
{
    return base::usageError("this program was built without HDF5; end the name in .parquet", "--out " + file.string());
}

} // namespace

base::Result<std::vector<RowKey>> hdf5Keys(const std::filesystem::path& file, const RowHead& /*head*/,
                                           std::size_t /*from*/)
{
    return builtWithout(file);
}

base::Result<void> appendHdf5(const std::filesystem::path& file, const RowHead& /*head*/, std::span<const Row> /*rows*/)
{
    return builtWithout(file);
}

} // namespace retro::rows

#else

#include "core/base/file.h"
#include "core/rows/hdf5library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace retro::rows
{

namespace fs = std::filesystem;

using base::Result;

namespace
{

constexpr const char* kQuestionName = "retrograde.question";
/// How a file is opened. The library's names for these call a function of it.
constexpr unsigned kReadOnly = 0;
constexpr unsigned kReadAndWrite = 1;
constexpr unsigned kMakeNew = 4;
constexpr std::uint64_t kChunkBytes = 64ULL << 10U;
constexpr std::uint64_t kMostChunkRows = 1024;
constexpr std::uint64_t kMostRowBytes = (1ULL << 32U) - 1; ///< of a chunk
constexpr std::uint64_t kMostRows = 1ULL << 32U;
constexpr std::uint64_t kSpareBytes = 1ULL << 20U;        ///< for what the library writes beside the values
constexpr std::uint64_t kMostCopiedBytes = 256ULL << 20U; ///< a larger file gets its rows in place
constexpr std::size_t kColumns = 16;                      ///< at least as many as there are beside the attributions

/// What is closed by one function of the library.
class Handle
{
public:
    Handle(hid_t id, herr_t (*closing)(hid_t)) : m_id(id), m_close(closing) {}
    Handle(Handle&& other) noexcept : m_id(std::exchange(other.m_id, -1)), m_close(other.m_close) {}
    Handle& operator=(Handle&&) = delete;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle()
    {
        if (m_id >= 0) {
            m_close(m_id);
        }
    }

    [[nodiscard]] bool isOpen() const { return m_id >= 0; }
    [[nodiscard]] hid_t id() const { return m_id; }
    /// False when closing failed: what was written may not be there.
    [[nodiscard]] bool close() { return m_close(std::exchange(m_id, -1)) >= 0; }

private:
    hid_t m_id;
    herr_t (*m_close)(hid_t);
};

using Extents = std::vector<hsize_t>;

/// A dataset whose first axis is rows.
struct Dataset
{
    std::string name;
    hid_t type;
    Extents shape; ///< of one row
    std::uint64_t elementBytes;
};

class RowsInFile
{
public:
    RowsInFile(const Hdf5& library, const fs::path& path, Handle file)
        : m_hdf5(library), m_path(path), m_file(std::move(file)),
          m_text(library.H5Tcopy(library.text), library.H5Tclose)
    {
        library.H5Tset_size(m_text.id(), H5T_VARIABLE);
        library.H5Tset_cset(m_text.id(), H5T_CSET_UTF8);
    }

    /// `path` is what the file at `place` is called in errors.
    [[nodiscard]] static Result<RowsInFile> open(const Hdf5& library, const fs::path& place, const fs::path& path,
                                                 bool writes)
    {
        Handle file(library.H5Fopen(place.c_str(), writes ? kReadAndWrite : kReadOnly, H5P_DEFAULT), library.H5Fclose);
        if (!file.isOpen()) {
            return base::inputError("this is no HDF5 file that can be opened, or another program has it open; name "
                                    "another file",
                                    path.string());
        }
        return RowsInFile(library, path, std::move(file));
    }

    [[nodiscard]] hid_t text() const { return m_text.id(); }
    [[nodiscard]] bool close() { return m_file.close(); }

    [[nodiscard]] Result<void> setFact(const std::string& name, const std::string& value) const
    {
        const Handle type(m_hdf5.H5Tcopy(m_hdf5.text), m_hdf5.H5Tclose);
        m_hdf5.H5Tset_size(type.id(), std::max<std::size_t>(value.size(), 1));
        m_hdf5.H5Tset_cset(type.id(), H5T_CSET_UTF8);
        const Handle space(m_hdf5.H5Screate(H5S_SCALAR), m_hdf5.H5Sclose);
        const Handle attribute(
            m_hdf5.H5Acreate2(m_file.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
            m_hdf5.H5Aclose);
        const std::string padded = value.empty() ? std::string(1, '\0') : value;
        return attribute.isOpen() && m_hdf5.H5Awrite(attribute.id(), type.id(), padded.data()) >= 0 ? Result<void>()
                                                                                                    : notWritten();
    }

    [[nodiscard]] Result<void> checkQuestion(const std::string& question) const
    {
        std::string read(question.size(), '\0');
        bool isThere = m_hdf5.H5Aexists(m_file.id(), kQuestionName) > 0;
        if (isThere) {
            const Handle attribute(m_hdf5.H5Aopen(m_file.id(), kQuestionName, H5P_DEFAULT), m_hdf5.H5Aclose);
            const Handle type(m_hdf5.H5Tcopy(m_hdf5.text), m_hdf5.H5Tclose);
            m_hdf5.H5Tset_size(type.id(), std::max<std::size_t>(question.size(), 1));
            m_hdf5.H5Tset_cset(type.id(), H5T_CSET_UTF8);
            isThere = attribute.isOpen() && m_hdf5.H5Aread(attribute.id(), type.id(), read.data()) >= 0;
        }
        if (!isThere) {
            return base::usageError("this HDF5 file was not written by `explain --out`; name another file",
                                    "--out " + m_path.string());
        }
        if (read != question) {
            return base::usageError("its rows answer another question (model, composite, target …); name another file",
                                    "--out " + m_path.string());
        }
        return {};
    }

    [[nodiscard]] Result<void> make(const Dataset& set) const
    {
        Extents extents{0};
        Extents most{H5S_UNLIMITED};
        std::uint64_t rowBytes = set.elementBytes;
        for (const hsize_t extent : set.shape) {
            extents.push_back(extent);
            most.push_back(extent);
            rowBytes *= std::max<hsize_t>(extent, 1);
        }
        Extents chunk = extents;
        chunk.front() =
            std::clamp<std::uint64_t>(kChunkBytes / std::max<std::uint64_t>(rowBytes, 1), 1, kMostChunkRows);
        std::ranges::replace(chunk, hsize_t{0}, hsize_t{1});
        const auto rank = static_cast<int>(extents.size());
        const Handle space(m_hdf5.H5Screate_simple(rank, extents.data(), most.data()), m_hdf5.H5Sclose);
        const Handle how(m_hdf5.H5Pcreate(m_hdf5.creation), m_hdf5.H5Pclose);
        m_hdf5.H5Pset_chunk(how.id(), rank, chunk.data());
        const Handle made(
            m_hdf5.H5Dcreate2(m_file.id(), set.name.c_str(), set.type, space.id(), H5P_DEFAULT, how.id(), H5P_DEFAULT),
            m_hdf5.H5Dclose);
        return made.isOpen() ? Result<void>() : notWritten();
    }

    /// Rows of a dataset, and the shape of each.
    [[nodiscard]] Result<Extents> extentsOf(const std::string& name) const
    {
        const Handle set(m_hdf5.H5Dopen2(m_file.id(), name.c_str(), H5P_DEFAULT), m_hdf5.H5Dclose);
        if (!set.isOpen()) {
            return base::usageError(fmt::format("it has no dataset '{}'; name another file", name),
                                    "--out " + m_path.string());
        }
        const Handle space(m_hdf5.H5Dget_space(set.id()), m_hdf5.H5Sclose);
        const int rank = m_hdf5.H5Sget_simple_extent_ndims(space.id());
        Extents extents(static_cast<std::size_t>(std::max(rank, 0)));
        if (rank < 1 || m_hdf5.H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr) < 0 ||
            extents.front() > kMostRows) {
            return base::inputError(fmt::format("its dataset '{}' is damaged", name), m_path.string());
        }
        return extents;
    }

    /// Puts values of rows behind the first `rows`.
    [[nodiscard]] Result<void> append(const Dataset& set, std::uint64_t rows, std::uint64_t count,
                                      const void* values) const
    {
        const Handle made(m_hdf5.H5Dopen2(m_file.id(), set.name.c_str(), H5P_DEFAULT), m_hdf5.H5Dclose);
        Extents extents{rows + count};
        extents.insert(extents.end(), set.shape.begin(), set.shape.end());
        if (!made.isOpen() || m_hdf5.H5Dset_extent(made.id(), extents.data()) < 0) {
            return notWritten();
        }
        Extents start(extents.size(), 0);
        start.front() = rows;
        extents.front() = count;
        const auto rank = static_cast<int>(extents.size());
        const Handle there(m_hdf5.H5Dget_space(made.id()), m_hdf5.H5Sclose);
        const Handle here(m_hdf5.H5Screate_simple(rank, extents.data(), nullptr), m_hdf5.H5Sclose);
        const bool isWritten = m_hdf5.H5Sselect_hyperslab(there.id(), H5S_SELECT_SET, start.data(), nullptr,
                                                          extents.data(), nullptr) >= 0 &&
                               m_hdf5.H5Dwrite(made.id(), set.type, here.id(), there.id(), H5P_DEFAULT, values) >= 0;
        return isWritten ? Result<void>() : notWritten();
    }

    /// Values of rows from `from` on, of a dataset of one value per row.
    [[nodiscard]] Result<void> read(const std::string& name, hid_t type, std::uint64_t from, std::uint64_t count,
                                    void* values) const
    {
        const Handle set(m_hdf5.H5Dopen2(m_file.id(), name.c_str(), H5P_DEFAULT), m_hdf5.H5Dclose);
        const hsize_t start = from;
        const hsize_t extent = count;
        const Handle there(set.isOpen() ? m_hdf5.H5Dget_space(set.id()) : -1, m_hdf5.H5Sclose);
        const Handle here(m_hdf5.H5Screate_simple(1, &extent, nullptr), m_hdf5.H5Sclose);
        const bool isRead =
            there.isOpen() && m_hdf5.H5Sget_simple_extent_ndims(there.id()) == 1 &&
            m_hdf5.H5Sselect_hyperslab(there.id(), H5S_SELECT_SET, &start, nullptr, &extent, nullptr) >= 0 &&
            m_hdf5.H5Dread(set.id(), type, here.id(), there.id(), H5P_DEFAULT, values) >= 0;
        return isRead ? Result<void>()
                      : base::inputError(fmt::format("its dataset '{}' is damaged", name), m_path.string());
    }

    [[nodiscard]] Result<std::vector<std::string>> readTexts(const std::string& name, std::uint64_t from,
                                                             std::uint64_t count) const
    {
        std::vector<char*> given(count, nullptr);
        RETRO_CHECK(read(name, text(), from, count, given.data()));
        std::vector<std::string> texts;
        for (const char* one : given) {
            texts.emplace_back(one == nullptr ? "" : one);
        }
        const hsize_t extent = count;
        const Handle space(m_hdf5.H5Screate_simple(1, &extent, nullptr), m_hdf5.H5Sclose);
        m_hdf5.H5Dvlen_reclaim(text(), space.id(), H5P_DEFAULT, given.data());
        return texts;
    }

    [[nodiscard]] base::Error notWritten() const
    {
        return base::outputError("the HDF5 file cannot be written (is the disk full?)", m_path.string());
    }

private:
    const Hdf5& m_hdf5;
    fs::path m_path;
    Handle m_file;
    Handle m_text; ///< strings of any length
};

/// One column: where it goes, and the values of some rows.
struct FilledDataset
{
    Dataset set;
    std::vector<std::byte> bytes{};
    std::vector<const char*> texts{};

    [[nodiscard]] const void* values() const
    {
        return texts.empty() ? static_cast<const void*>(bytes.data()) : static_cast<const void*>(texts.data());
    }
};

template <class T, class Get>
FilledDataset filled(std::string name, hid_t type, Extents shape, std::span<const Row> rows, Get get)
{
    FilledDataset made{{std::move(name), type, std::move(shape), sizeof(T)}};
    for (const Row& row : rows) {
        const std::vector<T> values = get(row);
        const auto more = std::as_bytes(std::span(values));
        made.bytes.insert(made.bytes.end(), more.begin(), more.end());
    }
    return made;
}

template <class Get>
FilledDataset filledTexts(std::string name, hid_t type, std::span<const Row> rows, Get get)
{
    FilledDataset made{{std::move(name), type, {}, sizeof(char*)}};
    for (const Row& row : rows) {
        made.texts.push_back(get(row).c_str());
    }
    return made;
}

Extents extentsOf(const RowPart& part)
{
    Extents extents;
    for (const std::int64_t extent : part.values.shape()) {
        extents.push_back(static_cast<hsize_t>(extent));
    }
    return extents;
}

std::string nameOfPart(const Row& row, std::size_t part)
{
    std::string name = part == 0 ? "attribution" : "attribution_" + row.parts[part].name;
    std::ranges::replace(name, '/', '_');
    return name;
}

/// All datasets of some rows; `id` is the last one.
std::vector<FilledDataset> datasetsOf(const Hdf5& hdf5, hid_t text, std::span<const Row> rows)
{
    const Row& first = rows.front();
    std::vector<FilledDataset> all;
    for (std::size_t part = 0; part < first.parts.size(); ++part) {
        all.push_back(filled<float>(
            nameOfPart(first, part), hdf5.floats, extentsOf(first.parts[part]), rows, [part](const Row& row) {
                const tensor::Tensor plain = row.parts[part].values.to(tensor::DType::Float32).contiguous();
                const auto values = plain.span<float>();
                return std::vector<float>(values.begin(), values.end());
            }));
    }
    const std::size_t scores = std::max<std::size_t>(first.scores.size(), 1);
    all.push_back(filled<float>("prediction", hdf5.floats, {scores}, rows, [](const Row& row) {
        return row.scores.empty() ? std::vector<float>{static_cast<float>(row.score)} : row.scores;
    }));
    const auto wholes = [&](const char* name, auto get) {
        all.push_back(filled<std::int64_t>(name, hdf5.wholes, {}, rows,
                                           [get](const Row& row) { return std::vector<std::int64_t>{get(row)}; }));
    };
    const auto numbers = [&](const char* name, auto get) {
        all.push_back(filled<double>(name, hdf5.doubles, {}, rows,
                                     [get](const Row& row) { return std::vector<double>{get(row)}; }));
    };
    wholes("label", [](const Row& row) { return row.target; });
    numbers("score", [](const Row& row) { return row.score; });
    numbers("started", [](const Row& row) { return row.started; });
    numbers("reached", [](const Row& row) { return row.reached; });
    wholes("bytes", [](const Row& row) { return row.key.bytes; });
    wholes("modified", [](const Row& row) { return row.key.modified; });
    wholes("sample", [](const Row& row) { return row.key.sample; });
    const auto texts = [&](const char* name, auto get) { all.push_back(filledTexts(name, text, rows, get)); };
    texts("class", [](const Row& row) -> const std::string& { return row.label; });
    texts("source", [](const Row& row) -> const std::string& { return row.key.source; });
    texts("id", [](const Row& row) -> const std::string& { return row.key.id; });
    return all;
}

/// Rows that lie in one array have one shape.
Result<void> checkRows(std::span<const Row> rows, const fs::path& file)
{
    const Row& first = rows.front();
    for (const Row& row : rows) {
        bool isSame = row.scores.size() == first.scores.size() && row.parts.size() == first.parts.size();
        for (std::size_t i = 0; isSame && i < row.parts.size(); ++i) {
            isSame = row.parts[i].values.shape() == first.parts[i].values.shape();
        }
        if (!isSame) {
            return base::usageError(fmt::format("rows of an HDF5 file have one shape, and '{}' has another than '{}'; "
                                                "end the name in .parquet",
                                                row.key.id, first.key.id),
                                    "--out " + file.string());
        }
        if (row.bytes() > kMostRowBytes) {
            return base::outputError("its relevance is larger than 4 GiB; write result folders by --output-dir",
                                     row.key.id);
        }
    }
    return {};
}

/// Bytes that the file may grow by, at most: chunks are made whole, texts lie in blocks of the library.
std::uint64_t mostGrowth(std::span<const Row> rows, std::size_t sets)
{
    std::uint64_t bytes = kSpareBytes + 2 * kChunkBytes * sets;
    for (const Row& row : rows) {
        bytes += 2 * row.bytes();
    }
    return bytes;
}

/// Adds rows to the file at `place`, which is made when it is new. `file` is what it is called in errors.
Result<void> addRows(const Hdf5& library, const fs::path& file, const fs::path& place, const RowHead& head,
                     std::span<const Row> rows)
{
    std::error_code unknown;
    const bool isNew = !fs::exists(place, unknown);
    const auto make = [&]() -> Result<RowsInFile> {
        if (!isNew) {
            return RowsInFile::open(library, place, file, true);
        }
        Handle made(library.H5Fcreate(place.c_str(), kMakeNew, H5P_DEFAULT, H5P_DEFAULT), library.H5Fclose);
        if (!made.isOpen()) {
            return base::outputError("the HDF5 file cannot be made", file.string());
        }
        return RowsInFile(library, file, std::move(made));
    };
    RETRO_TRY(RowsInFile into, make());
    const std::vector<FilledDataset> sets = datasetsOf(library, into.text(), rows);
    if (isNew) {
        RETRO_CHECK(into.setFact(kQuestionName, head.question));
        for (const auto& [name, value] : head.facts) {
            RETRO_CHECK(into.setFact(name, value));
        }
        for (const FilledDataset& one : sets) {
            RETRO_CHECK(into.make(one.set));
        }
    }
    RETRO_CHECK(into.checkQuestion(head.question));
    RETRO_TRY(const Extents there, into.extentsOf("id"));
    for (const FilledDataset& one : sets) {
        RETRO_TRY(const Extents extents, into.extentsOf(one.set.name));
        if (!std::equal(extents.begin() + 1, extents.end(), one.set.shape.begin(), one.set.shape.end())) {
            return base::usageError(fmt::format("rows of an HDF5 file have one shape, and '{}' has another one; end "
                                                "the name in .parquet",
                                                rows.front().key.id),
                                    "--out " + file.string());
        }
    }
    for (const FilledDataset& one : sets) {
        RETRO_CHECK(into.append(one.set, there.front(), rows.size(), one.values()));
    }
    return into.close() ? Result<void>() : into.notWritten();
}

/// Adds rows to a copy, which takes the place of the file when it is whole.
Result<void> addToCopy(const Hdf5& library, const fs::path& file, const RowHead& head, std::span<const Row> rows,
                       std::uint64_t bytes)
{
    Result<void> added;
    const Result<void> written = base::writeThrough(file, [&](const fs::path& temporary) -> Result<void> {
        std::error_code failed;
        if (bytes > 0 && !fs::copy_file(file, temporary, failed)) {
            added =
                base::outputError("the file cannot be copied (is the disk full?): " + failed.message(), file.string());
        } else {
            added = addRows(library, file, temporary, head, rows);
        }
        return added;
    });
    return added ? written : added; // whose error names the file already
}

/// Adds rows to a file that is too large to be copied. Room is taken first, so that a disk that is full or a quota is
/// met while nothing has changed.
Result<void> addInPlace(const Hdf5& library, const fs::path& file, const RowHead& head, std::span<const Row> rows,
                        std::uint64_t bytes, std::uint64_t growth)
{
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    const int fault = descriptor < 0 ? errno
                                     : ::posix_fallocate(descriptor, static_cast<off_t>(bytes),
                                                         static_cast<off_t>(growth)); // the library gives back the rest
    const bool isBack = fault == 0 || descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0;
    if (descriptor >= 0) {
        ::close(descriptor);
    }
    if (fault != 0 || !isBack) {
        return base::outputError(fmt::format("the file cannot grow: {}", std::strerror(fault)), file.string());
    }
    return addRows(library, file, file, head, rows);
}

} // namespace

Result<const Hdf5*> Hdf5::library()
{
    static Hdf5 loaded;
    static const bool isThere = [] {
        void* handle = nullptr;
        for (const char* name : {RETRO_HDF5_LIBRARY, "libhdf5_serial.so.103", "libhdf5.so.103"}) {
            handle = handle == nullptr ? ::dlopen(name, RTLD_NOW | RTLD_LOCAL) : handle;
        }
        if (handle == nullptr) {
            return false;
        }
        bool areAll = true;
#define RETRO_HDF5_LOAD(name)                                                                                          \
    loaded.name = reinterpret_cast<decltype(loaded.name)>(::dlsym(handle, #name));                                     \
    areAll = areAll && loaded.name != nullptr;
        RETRO_HDF5_FUNCTIONS(RETRO_HDF5_LOAD)
#undef RETRO_HDF5_LOAD
        // At the end the library would write what a full disk did not take, and die of it. Files are closed by us.
        if (!areAll || loaded.H5dont_atexit() < 0 || loaded.H5open() < 0) {
            return false;
        }
        const auto number = [handle](const char* name) {
            const auto* value = static_cast<const hid_t*>(::dlsym(handle, name));
            return value == nullptr ? hid_t{-1} : *value;
        };
        loaded.floats = number("H5T_NATIVE_FLOAT_g");
        loaded.doubles = number("H5T_NATIVE_DOUBLE_g");
        loaded.wholes = number("H5T_NATIVE_INT64_g");
        loaded.text = number("H5T_C_S1_g");
        loaded.creation = number("H5P_CLS_DATASET_CREATE_ID_g");
        loaded.H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // errors are said by us
        return loaded.floats >= 0 && loaded.doubles >= 0 && loaded.wholes >= 0 && loaded.text >= 0 &&
               loaded.creation >= 0;
    }();
    if (!isThere) {
        return base::usageError("HDF5 files need the library libhdf5 (Debian: libhdf5-103-1); install it, or end the "
                                "name in .parquet",
                                "--out");
    }
    return &loaded;
}

Result<std::vector<RowKey>> hdf5Keys(const fs::path& file, const RowHead& head, std::size_t from)
{
    RETRO_TRY(const Hdf5* library, Hdf5::library());
    std::vector<RowKey> keys;
    std::error_code unknown;
    if (!fs::exists(file, unknown)) {
        return keys;
    }
    RETRO_TRY(const RowsInFile rows, RowsInFile::open(*library, file, file, false));
    RETRO_CHECK(rows.checkQuestion(head.question));
    RETRO_TRY(const Extents there, rows.extentsOf("id"));
    const std::uint64_t count = there.front() > from ? there.front() - from : 0;
    if (count == 0) {
        return keys;
    }
    RETRO_TRY(const auto ids, rows.readTexts("id", from, count));
    RETRO_TRY(const auto sources, rows.readTexts("source", from, count));
    std::array<std::vector<std::int64_t>, 3> numbers;
    const std::array names{"bytes", "modified", "sample"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        numbers[i].resize(count);
        RETRO_CHECK(rows.read(names[i], library->wholes, from, count, numbers[i].data()));
    }
    for (std::size_t i = 0; i < count; ++i) {
        keys.push_back({ids[i], sources[i], numbers[0][i], numbers[1][i], numbers[2][i]});
    }
    return keys;
}

Result<void> appendHdf5(const fs::path& file, const RowHead& head, std::span<const Row> rows)
{
    if (rows.empty()) {
        return {};
    }
    RETRO_TRY(const Hdf5* library, Hdf5::library());
    RETRO_CHECK(checkRows(rows, file));
    std::error_code unknown;
    const std::uintmax_t size = fs::file_size(file, unknown);
    const std::uint64_t bytes = unknown ? 0 : size;
    const bool isCopied = bytes <= kMostCopiedBytes;
    return isCopied
               ? addToCopy(*library, file, head, rows, bytes)
               : addInPlace(*library, file, head, rows, bytes, mostGrowth(rows, kColumns + rows.front().parts.size()));
}

} // namespace retro::rows

#endif
