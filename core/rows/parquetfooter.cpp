// SPDX-License-Identifier: Apache-2.0
// The parts of the Parquet format that describe a file (Apache Parquet, parquet.thrift).
#include "core/rows/parquetfooter.h"

#include "core/base/file.h"

#include <array>
#include <cstring>

namespace retro::rows
{

using base::Result;

namespace
{

constexpr std::size_t kEndBytes = 8; ///< length and mark
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 50U;
constexpr std::int32_t kVersion = 2;
constexpr std::int32_t kPlain = 0;
constexpr std::int32_t kRunLengths = 3;
constexpr std::int32_t kRequired = 0;
constexpr std::int32_t kRepeated = 2;
constexpr std::int32_t kConvertedText = 0;
constexpr std::int32_t kConvertedList = 3;
constexpr std::int16_t kLogicalText = 1;
constexpr std::int16_t kLogicalList = 3;

/// Physical types.
constexpr std::int32_t kInt64 = 2;
constexpr std::int32_t kFloat = 4;
constexpr std::int32_t kDouble = 5;
constexpr std::int32_t kByteArray = 6;

std::int32_t physicalOf(ColumnKind kind)
{
    switch (kind) {
    case ColumnKind::Text:
        return kByteArray;
    case ColumnKind::Number:
        return kDouble;
    case ColumnKind::Numbers:
        return kFloat;
    case ColumnKind::Whole:
    case ColumnKind::Wholes:
        return kInt64;
    }
    return kInt64;
}

void writeLogical(ThriftWriter& writer, std::int16_t which)
{
    writer.beginField(10, ThriftType::Struct);
    writer.beginStruct();
    writer.beginField(which, ThriftType::Struct);
    writer.beginStruct();
    writer.endStruct();
    writer.endStruct();
}

void writeColumn(ThriftWriter& writer, const Column& column)
{
    writer.beginStruct();
    if (!column.isList()) {
        writer.field(1, physicalOf(column.kind));
        writer.field(3, kRequired);
        writer.field(4, column.name);
        if (column.kind == ColumnKind::Text) {
            writer.field(6, kConvertedText);
            writeLogical(writer, kLogicalText);
        }
        writer.endStruct();
        return;
    }
    writer.field(3, kRequired);
    writer.field(4, column.name);
    writer.field(5, std::int32_t{1});
    writer.field(6, kConvertedList);
    writeLogical(writer, kLogicalList);
    writer.endStruct();
    writer.beginStruct();
    writer.field(3, kRepeated);
    writer.field(4, std::string_view("list"));
    writer.field(5, std::int32_t{1});
    writer.endStruct();
    writer.beginStruct();
    writer.field(1, physicalOf(column.kind));
    writer.field(3, kRequired);
    writer.field(4, std::string_view("element"));
    writer.endStruct();
}

void writePlace(ThriftWriter& writer, const Column& column, const ColumnPlace& place)
{
    writer.beginStruct();
    writer.field(2, place.offset);
    writer.beginField(3, ThriftType::Struct);
    writer.beginStruct();
    writer.field(1, physicalOf(column.kind));
    writer.beginField(2, ThriftType::List);
    writer.listHead(2, ThriftType::I32);
    writer.item(kPlain);
    writer.item(kRunLengths);
    writer.beginField(3, ThriftType::List);
    writer.listHead(column.isList() ? 3 : 1, ThriftType::Binary);
    writer.item(column.name);
    if (column.isList()) {
        writer.item(std::string_view("list"));
        writer.item(std::string_view("element"));
    }
    writer.field(4, std::int32_t{0}); // no compression
    writer.field(5, place.values);
    writer.field(6, place.bytes);
    writer.field(7, place.bytes);
    writer.field(9, place.offset);
    writer.endStruct();
    writer.endStruct();
}

bool isField(const ThriftReader::Field& field, std::int16_t id, ThriftType type)
{
    return field.id == id && field.type == type;
}

/// The first name of a path; a path without names changes nothing.
void readFirstName(ThriftReader& reader, std::string& name)
{
    const auto path = reader.list();
    for (std::size_t i = 0; i < path.count && reader.isGood(); ++i) {
        const std::string step = reader.text();
        name = i == 0 ? step : name;
    }
}

/// The struct that tells of a column: its name, and where it lies.
void readColumn(ThriftReader& reader, std::string& name, ColumnPlace& place)
{
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        if (isField(field, 3, ThriftType::List)) {
            readFirstName(reader, name);
        } else if (isField(field, 5, ThriftType::I64)) {
            place.values = reader.integer();
        } else if (isField(field, 7, ThriftType::I64)) {
            place.bytes = reader.integer();
        } else if (isField(field, 9, ThriftType::I64)) {
            place.offset = reader.integer();
        } else {
            reader.skip(field.type);
        }
    }
}

void readPlace(ThriftReader& reader, RowGroup& group)
{
    std::string name;
    ColumnPlace place;
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        if (isField(field, 3, ThriftType::Struct)) {
            readColumn(reader, name, place);
        } else {
            reader.skip(field.type);
        }
    }
    group.columns[name] = place;
}

RowGroup readGroup(ThriftReader& reader)
{
    RowGroup group;
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        if (isField(field, 1, ThriftType::List)) {
            const auto columns = reader.list();
            for (std::size_t i = 0; i < columns.count && reader.isGood(); ++i) {
                readPlace(reader, group);
            }
        } else if (isField(field, 3, ThriftType::I64)) {
            group.rows = reader.integer();
        } else {
            reader.skip(field.type);
        }
    }
    return group;
}

void readFact(ThriftReader& reader, std::map<std::string, std::string>& facts)
{
    std::string key;
    std::string value;
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        if (field.id <= 2 && field.type == ThriftType::Binary) {
            (field.id == 1 ? key : value) = reader.text();
        } else {
            reader.skip(field.type);
        }
    }
    facts[key] = value;
}

/// The bytes of the items of a list, without its head.
std::vector<std::byte> piece(std::span<const std::byte> bytes, std::size_t begin, std::size_t end)
{
    const auto part = bytes.subspan(begin, end - begin);
    return {part.begin(), part.end()};
}

void readGroups(ThriftReader& reader, std::span<const std::byte> bytes, ParquetFooter& footer)
{
    const auto groups = reader.list();
    const std::size_t first = reader.position();
    for (std::size_t i = 0; i < groups.count && reader.isGood(); ++i) {
        footer.groups.push_back(readGroup(reader));
    }
    footer.groupBytes = piece(bytes, first, reader.position());
}

void readFacts(ThriftReader& reader, std::map<std::string, std::string>& into)
{
    const auto facts = reader.list();
    for (std::size_t i = 0; i < facts.count && reader.isGood(); ++i) {
        readFact(reader, into);
    }
}

/// The struct that tells of a page of data: how many values it has.
void readPage(ThriftReader& reader, PageContent& content)
{
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        if (isField(field, 1, ThriftType::I32)) {
            content.count = reader.integer();
        } else {
            reader.skip(field.type);
        }
    }
}

bool readInto(ParquetFooter& footer, std::span<const std::byte> bytes)
{
    ThriftReader reader(bytes);
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        const std::size_t begin = reader.position();
        if (isField(field, 2, ThriftType::List)) {
            reader.skip(field.type);
            footer.schema = piece(bytes, begin, reader.position());
        } else if (isField(field, 3, ThriftType::I64)) {
            footer.rows = reader.integer();
        } else if (isField(field, 4, ThriftType::List)) {
            readGroups(reader, bytes, footer);
        } else if (isField(field, 5, ThriftType::List)) {
            readFacts(reader, footer.facts);
        } else {
            reader.skip(field.type);
        }
    }
    return reader.isGood();
}

} // namespace

std::vector<std::byte> schemaOf(const std::vector<Column>& columns)
{
    std::size_t elements = 1;
    for (const Column& column : columns) {
        elements += column.isList() ? 3 : 1;
    }
    ThriftWriter writer;
    writer.listHead(elements, ThriftType::Struct);
    writer.beginStruct();
    writer.field(4, std::string_view("schema"));
    writer.field(5, static_cast<std::int32_t>(columns.size()));
    writer.endStruct();
    for (const Column& column : columns) {
        writeColumn(writer, column);
    }
    return writer.bytes();
}

std::vector<std::byte> pageHeader(std::size_t values, std::size_t bytes)
{
    ThriftWriter writer;
    writer.beginStruct();
    writer.field(1, std::int32_t{0}); // a page of data
    writer.field(2, static_cast<std::int32_t>(bytes));
    writer.field(3, static_cast<std::int32_t>(bytes));
    writer.beginField(5, ThriftType::Struct);
    writer.beginStruct();
    writer.field(1, static_cast<std::int32_t>(values));
    writer.field(2, kPlain);
    writer.field(3, kRunLengths);
    writer.field(4, kRunLengths);
    writer.endStruct();
    writer.endStruct();
    return writer.bytes();
}

PageContent pageContent(std::span<const std::byte> page)
{
    ThriftReader reader(page);
    PageContent content;
    reader.beginStruct();
    for (auto field = reader.nextField(); field.type != ThriftType::Stop; field = reader.nextField()) {
        if (isField(field, 5, ThriftType::Struct)) {
            readPage(reader, content);
        } else {
            reader.skip(field.type);
        }
    }
    content.begin = reader.position();
    return reader.isGood() && content.count >= 0 ? content : PageContent{page.size(), 0};
}

Result<ParquetFooter> ParquetFooter::read(const std::filesystem::path& file)
{
    RETRO_TRY(const base::FileReader reader, base::FileReader::open(file, kMostFileBytes));
    const auto damaged = [&](const char* what) {
        return base::inputError(std::string("this is no Parquet file that results can be added to: ") + what,
                                file.string());
    };
    std::array<std::byte, kEndBytes> end{};
    if (reader.size() < kParquetMark.size() + kEndBytes) {
        return damaged("it is too short");
    }
    RETRO_CHECK(reader.read(reader.size() - kEndBytes, end));
    std::uint32_t length = 0;
    std::memcpy(&length, end.data(), sizeof(length));
    if (std::memcmp(end.data() + sizeof(length), kParquetMark.data(), kParquetMark.size()) != 0) {
        return damaged("its end is missing");
    }
    if (length > kMostBytes || length > reader.size() - kEndBytes - kParquetMark.size()) {
        return damaged("its end has a length that cannot be");
    }
    ParquetFooter footer;
    footer.begin = reader.size() - kEndBytes - length;
    std::vector<std::byte> bytes(length);
    RETRO_CHECK(reader.read(footer.begin, bytes));
    if (!readInto(footer, bytes)) {
        return damaged("its end cannot be read");
    }
    return footer;
}

void ParquetFooter::add(const std::vector<Column>& columns, const RowGroup& group)
{
    std::int64_t size = 0;
    for (const Column& column : columns) {
        size += group.columns.at(column.name).bytes;
    }
    ThriftWriter writer;
    writer.beginStruct();
    writer.beginField(1, ThriftType::List);
    writer.listHead(columns.size(), ThriftType::Struct);
    for (const Column& column : columns) {
        writePlace(writer, column, group.columns.at(column.name));
    }
    writer.field(2, size);
    writer.field(3, group.rows);
    writer.endStruct();
    groupBytes.insert(groupBytes.end(), writer.bytes().begin(), writer.bytes().end());
    groups.push_back(group);
    rows += group.rows;
}

std::vector<std::byte> ParquetFooter::bytes() const
{
    ThriftWriter writer;
    writer.beginStruct();
    writer.field(1, kVersion);
    writer.beginField(2, ThriftType::List);
    writer.raw(schema);
    writer.field(3, rows);
    writer.beginField(4, ThriftType::List);
    writer.listHead(groups.size(), ThriftType::Struct);
    writer.raw(groupBytes);
    writer.beginField(5, ThriftType::List);
    writer.listHead(facts.size(), ThriftType::Struct);
    for (const auto& [key, value] : facts) {
        writer.beginStruct();
        writer.field(1, key);
        writer.field(2, value);
        writer.endStruct();
    }
    writer.field(6, std::string_view("Retrograde"));
    writer.endStruct();
    const auto length = static_cast<std::uint32_t>(writer.bytes().size());
    std::vector<std::byte> all = writer.bytes();
    const auto append = [&all](std::span<const std::byte> more) { all.insert(all.end(), more.begin(), more.end()); };
    append(std::as_bytes(std::span(&length, 1)));
    append(std::as_bytes(std::span(kParquetMark)));
    return all;
}

} // namespace retro::rows
