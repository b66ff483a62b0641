// SPDX-License-Identifier: Apache-2.0
#include "core/rows/parquetrows.h"

#include "core/base/file.h"
#include "core/rows/parquetfooter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <iterator>
#include <limits>
#include <unistd.h>

namespace retro::rows
{

namespace fs = std::filesystem;

using base::Result;

static_assert(std::endian::native == std::endian::little, "Parquet's numbers are little-endian");

namespace
{

constexpr std::string_view kQuestion = "retrograde.question";
constexpr std::uint64_t kMostPageBytes = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMostKeyBytes = 1ULL << 30U;

using Bytes = std::vector<std::byte>;

void put(Bytes& bytes, std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

template <class T>
void putNumber(Bytes& bytes, T value)
{
    put(bytes, std::as_bytes(std::span(&value, 1)));
}

void putText(Bytes& bytes, const std::string& text)
{
    putNumber(bytes, static_cast<std::uint32_t>(text.size()));
    put(bytes, std::as_bytes(std::span(text)));
}

/// Runs of equal levels of one bit, with their length in bytes before them.
class Levels
{
public:
    void add(std::uint64_t count, std::uint8_t level)
    {
        if (count == 0) {
            return;
        }
        if (m_count != 0 && level != m_level) {
            end();
        }
        m_level = level;
        m_count += count;
    }
    void appendTo(Bytes& bytes)
    {
        end();
        putNumber(bytes, static_cast<std::uint32_t>(m_runs.size()));
        put(bytes, m_runs);
    }

private:
    void end()
    {
        if (m_count == 0) {
            return;
        }
        std::uint64_t head = m_count << 1U;
        for (; head >= 0x80; head >>= 7U) {
            m_runs.push_back(static_cast<std::byte>(head | 0x80U));
        }
        m_runs.push_back(static_cast<std::byte>(head));
        m_runs.push_back(static_cast<std::byte>(m_level));
        m_count = 0;
    }

    Bytes m_runs;
    std::uint64_t m_count = 0;
    std::uint8_t m_level = 0;
};

struct Page
{
    Bytes bytes;
    std::size_t values = 0;
};

/// A list per row: its levels, then all its values.
template <class CountOf, class Put>
Page listPage(std::span<const Row> rows, CountOf countOf, Put putValues)
{
    Levels repeated; // 0 begins a row
    Levels defined;  // 0: the row's list is empty
    Page page;
    for (const Row& row : rows) {
        const std::size_t count = countOf(row);
        repeated.add(1, 0);
        repeated.add(count == 0 ? 0 : count - 1, 1);
        defined.add(count == 0 ? 1 : count, count == 0 ? 0 : 1);
        page.values += std::max<std::size_t>(count, 1);
    }
    repeated.appendTo(page.bytes);
    defined.appendTo(page.bytes);
    for (const Row& row : rows) {
        putValues(page.bytes, row);
    }
    return page;
}

template <class Put>
Page plainPage(std::span<const Row> rows, Put putValue)
{
    Page page;
    page.values = rows.size();
    for (const Row& row : rows) {
        putValue(page.bytes, row);
    }
    return page;
}

/// A column and how its page is made.
struct FilledColumn
{
    Column column;
    std::function<Page(std::span<const Row>)> page;
};

template <class Get>
FilledColumn textColumn(const char* name, Get get)
{
    return {{name, ColumnKind::Text}, [get](std::span<const Row> rows) {
                return plainPage(rows, [get](Bytes& bytes, const Row& row) { putText(bytes, get(row)); });
            }};
}

template <class Get>
FilledColumn wholeColumn(const char* name, Get get)
{
    return {{name, ColumnKind::Whole}, [get](std::span<const Row> rows) {
                return plainPage(rows,
                                 [get](Bytes& bytes, const Row& row) { putNumber<std::int64_t>(bytes, get(row)); });
            }};
}

template <class Get>
FilledColumn numberColumn(const char* name, Get get)
{
    return {{name, ColumnKind::Number}, [get](std::span<const Row> rows) {
                return plainPage(rows, [get](Bytes& bytes, const Row& row) { putNumber<double>(bytes, get(row)); });
            }};
}

void addPart(std::vector<FilledColumn>& columns, std::size_t part, const std::string& suffix)
{
    const auto shape = [part](const Row& row) -> const tensor::Shape& { return row.parts[part].values.shape(); };
    columns.push_back(
        {{"shape" + suffix, ColumnKind::Wholes}, [shape](std::span<const Row> rows) {
             return listPage(
                 rows, [shape](const Row& row) { return shape(row).size(); },
                 [shape](Bytes& bytes, const Row& row) { put(bytes, std::as_bytes(std::span(shape(row)))); });
         }});
    columns.push_back(
        {{"relevance" + suffix, ColumnKind::Numbers}, [part](std::span<const Row> rows) {
             return listPage(
                 rows, [part](const Row& row) { return static_cast<std::size_t>(row.parts[part].values.size()); },
                 [part](Bytes& bytes, const Row& row) {
                     const tensor::Tensor plain = row.parts[part].values.to(tensor::DType::Float32).contiguous();
                     put(bytes, std::as_bytes(plain.span<float>()));
                 });
         }});
}

std::vector<FilledColumn> columnsFor(const Row& like)
{
    std::vector<FilledColumn> columns{textColumn("id", [](const Row& row) { return row.key.id; }),
                                      textColumn("source", [](const Row& row) { return row.key.source; }),
                                      wholeColumn("bytes", [](const Row& row) { return row.key.bytes; }),
                                      wholeColumn("modified", [](const Row& row) { return row.key.modified; }),
                                      wholeColumn("sample", [](const Row& row) { return row.key.sample; }),
                                      wholeColumn("target", [](const Row& row) { return row.target; }),
                                      textColumn("label", [](const Row& row) { return row.label; }),
                                      numberColumn("score", [](const Row& row) { return row.score; }),
                                      numberColumn("started", [](const Row& row) { return row.started; }),
                                      numberColumn("reached", [](const Row& row) { return row.reached; })};
    for (std::size_t part = 0; part < like.parts.size(); ++part) {
        addPart(columns, part, like.parts.size() == 1 ? std::string() : "/" + like.parts[part].name);
    }
    return columns;
}

base::Error failed(const fs::path& file, const char* what)
{
    return base::outputError(fmt::format("{}: {}", what, std::strerror(errno)), file.string());
}

/// Where the end of the file lies while rows are added.
fs::path journalOf(const fs::path& file)
{
    return file.parent_path() / fmt::format(".{}.footer", file.filename().string());
}

/// A file that is written in place.
class InPlace
{
public:
    explicit InPlace(const fs::path& file) : m_file(file), m_descriptor(::open(file.c_str(), O_RDWR | O_CLOEXEC)) {}
    ~InPlace()
    {
        if (m_descriptor >= 0) {
            ::close(m_descriptor);
        }
    }
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

    /// Everything from `offset` on becomes `bytes`, on the disk.
    [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const
    {
        std::uint64_t at = offset;
        for (std::span<const std::byte> rest = bytes; !rest.empty();) {
            const ssize_t count = ::pwrite(m_descriptor, rest.data(), rest.size(), static_cast<off_t>(at));
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count <= 0) {
                return failed(m_file, "the file cannot be written");
            }
            rest = rest.subspan(static_cast<std::size_t>(count));
            at += static_cast<std::uint64_t>(count);
        }
        if (m_descriptor < 0 || ::ftruncate(m_descriptor, static_cast<off_t>(at)) != 0 || ::fsync(m_descriptor) != 0) {
            return failed(m_file, "the file cannot be written");
        }
        return {};
    }

private:
    fs::path m_file;
    int m_descriptor;
};

/// Puts the end back that a killed call had taken away.
Result<void> restore(const fs::path& file)
{
    const fs::path journal = journalOf(file);
    std::error_code unknown;
    if (!fs::exists(journal, unknown) || !fs::exists(file, unknown)) {
        return {};
    }
    RETRO_TRY(const Bytes saved, base::readFile(journal, ParquetFooter::kMostBytes + 64));
    std::uint64_t offset = 0;
    if (saved.size() < sizeof(offset)) {
        return base::inputError("what was kept of the file's end is damaged; remove it, and the file",
                                journal.string());
    }
    std::memcpy(&offset, saved.data(), sizeof(offset));
    if (offset > fs::file_size(file, unknown) || unknown) {
        return base::inputError("it belongs to another state of the file; remove it, and the file", journal.string());
    }
    RETRO_CHECK(InPlace(file).write(offset, std::span(saved).subspan(sizeof(offset))));
    fs::remove(journal, unknown);
    return {};
}

Result<ParquetFooter> footerFor(const fs::path& file, const RowHead& head)
{
    RETRO_CHECK(restore(file));
    RETRO_TRY(ParquetFooter footer, ParquetFooter::read(file));
    const auto question = footer.facts.find(std::string(kQuestion));
    if (question == footer.facts.end()) {
        return base::usageError("this Parquet file was not written by `explain --out`; name another file",
                                "--out " + file.string());
    }
    if (question->second != head.question) {
        return base::usageError("its rows answer another question (model, composite, target …); name another file",
                                "--out " + file.string());
    }
    return footer;
}

/// The row group as bytes from `offset` of the file on; its places go into `group`.
Result<Bytes> groupOf(const std::vector<FilledColumn>& columns, std::span<const Row> rows, std::uint64_t offset,
                      RowGroup& group, const fs::path& file)
{
    Bytes all;
    group.rows = static_cast<std::int64_t>(rows.size());
    for (const FilledColumn& one : columns) {
        const Page page = one.page(rows);
        if (page.bytes.size() > kMostPageBytes || page.values > kMostPageBytes) {
            return base::outputError(fmt::format("the column {} of {} rows is larger than a page of Parquet can be; "
                                                 "write result folders by --output-dir",
                                                 one.column.name, rows.size()),
                                     file.string());
        }
        const Bytes header = pageHeader(page.values, page.bytes.size());
        group.columns[one.column.name] = {static_cast<std::int64_t>(offset + all.size()),
                                          static_cast<std::int64_t>(header.size() + page.bytes.size()),
                                          static_cast<std::int64_t>(page.values)};
        put(all, header);
        put(all, page.bytes);
    }
    return all;
}

bool haveSameParts(const Row& a, const Row& b)
{
    return std::ranges::equal(a.parts, b.parts, {}, &RowPart::name, &RowPart::name);
}

/// Reads pages of the key's columns.
class KeyReader
{
public:
    KeyReader(const base::FileReader& file, const RowGroup& group) : m_file(file), m_group(group) {}

    [[nodiscard]] Result<std::vector<std::string>> texts(const std::string& column) const
    {
        RETRO_TRY(const Bytes page, pageOf(column));
        const PageContent content = pageContent(page);
        std::vector<std::string> read;
        std::size_t at = content.begin;
        for (std::int64_t i = 0; i < m_group.rows; ++i) {
            std::uint32_t length = 0;
            if (content.count != m_group.rows || page.size() - at < sizeof(length)) {
                return damaged(column);
            }
            std::memcpy(&length, page.data() + at, sizeof(length));
            at += sizeof(length);
            if (length > page.size() - at) {
                return damaged(column);
            }
            read.emplace_back(reinterpret_cast<const char*>(page.data() + at), length);
            at += length;
        }
        return read;
    }

    [[nodiscard]] Result<std::vector<std::int64_t>> wholes(const std::string& column) const
    {
        RETRO_TRY(const Bytes page, pageOf(column));
        const PageContent content = pageContent(page);
        const auto rows = static_cast<std::uint64_t>(m_group.rows);
        if (content.count != m_group.rows || (page.size() - content.begin) / sizeof(std::int64_t) < rows) {
            return damaged(column);
        }
        std::vector<std::int64_t> read(rows);
        std::memcpy(read.data(), page.data() + content.begin, rows * sizeof(std::int64_t));
        return read;
    }

private:
    [[nodiscard]] base::Error damaged(const std::string& column) const
    {
        return base::inputError(fmt::format("its column {} is damaged", column), m_file.path().string());
    }

    [[nodiscard]] Result<Bytes> pageOf(const std::string& column) const
    {
        const auto place = m_group.columns.find(column);
        if (m_group.rows < 0 || place == m_group.columns.end() || place->second.offset < 0 || place->second.bytes < 0 ||
            static_cast<std::uint64_t>(place->second.bytes) > kMostKeyBytes ||
            static_cast<std::uint64_t>(place->second.offset) > m_file.size() ||
            static_cast<std::uint64_t>(place->second.bytes) >
                m_file.size() - static_cast<std::uint64_t>(place->second.offset)) {
            return damaged(column);
        }
        Bytes page(static_cast<std::size_t>(place->second.bytes));
        RETRO_CHECK(m_file.read(static_cast<std::uint64_t>(place->second.offset), page));
        return page;
    }

    const base::FileReader& m_file;
    const RowGroup& m_group;
};

Result<void> readKeys(const base::FileReader& file, const RowGroup& group, std::vector<RowKey>& keys)
{
    const KeyReader reader(file, group);
    RETRO_TRY(const auto ids, reader.texts("id"));
    RETRO_TRY(const auto sources, reader.texts("source"));
    RETRO_TRY(const auto bytes, reader.wholes("bytes"));
    RETRO_TRY(const auto modified, reader.wholes("modified"));
    RETRO_TRY(const auto samples, reader.wholes("sample"));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        keys.push_back({ids[i], sources[i], bytes[i], modified[i], samples[i]});
    }
    return {};
}

} // namespace

Result<std::vector<RowKey>> parquetKeys(const fs::path& file, const RowHead& head, std::size_t from)
{
    std::vector<RowKey> keys;
    std::error_code unknown;
    if (!fs::exists(file, unknown)) {
        return keys;
    }
    RETRO_TRY(const ParquetFooter footer, footerFor(file, head));
    RETRO_TRY(const base::FileReader reader, base::FileReader::open(file, std::uint64_t{1} << 50U));
    std::size_t before = 0;
    for (const RowGroup& group : footer.groups) {
        if (before >= from) {
            RETRO_CHECK(readKeys(reader, group, keys));
        }
        before += static_cast<std::size_t>(std::max<std::int64_t>(group.rows, 0));
    }
    return keys;
}

Result<void> appendParquet(const fs::path& file, const RowHead& head, std::span<const Row> rows)
{
    if (rows.empty()) {
        return {};
    }
    if (!std::ranges::all_of(rows, [&](const Row& row) { return haveSameParts(row, rows.front()); })) {
        return base::usageError("rows of one file have the same inputs", file.string());
    }
    const std::vector<FilledColumn> columns = columnsFor(rows.front());
    std::vector<Column> names;
    std::ranges::transform(columns, std::back_inserter(names), &FilledColumn::column);
    std::error_code unknown;
    RowGroup group;
    if (!fs::exists(file, unknown)) {
        ParquetFooter footer;
        footer.schema = schemaOf(names);
        footer.facts = head.facts;
        footer.facts[std::string(kQuestion)] = head.question;
        Bytes all;
        put(all, std::as_bytes(std::span(kParquetMark)));
        RETRO_TRY(const Bytes values, groupOf(columns, rows, all.size(), group, file));
        put(all, values);
        footer.add(names, group);
        put(all, footer.bytes());
        fs::remove(journalOf(file), unknown); // of a file that somebody removed
        return base::writeFile(file, all);
    }
    RETRO_TRY(ParquetFooter footer, footerFor(file, head));
    if (footer.schema != schemaOf(names)) {
        return base::usageError("its rows have other columns; name another file", "--out " + file.string());
    }
    RETRO_TRY(Bytes added, groupOf(columns, rows, footer.begin, group, file));
    Bytes kept;
    putNumber(kept, footer.begin);
    put(kept, footer.bytes());
    const std::uint64_t begin = footer.begin;
    footer.add(names, group);
    put(added, footer.bytes());
    RETRO_CHECK(base::writeFile(journalOf(file), kept));
    if (const Result<void> written = InPlace(file).write(begin, added); !written) {
        static_cast<void>(restore(file)); // the next call tries again
        return written.error();
    }
    fs::remove(journalOf(file), unknown);
    return {};
}

} // namespace retro::rows
