// SPDX-License-Identifier: Apache-2.0
#include "core/trace/runfile.h"

#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/base/memorylimit.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/tablelookup.h"
#include "core/trace/file/inputrows.h"
#include "core/trace/file/records.h"
#include "core/trace/file/runtables.h"
#include "core/trace/file/tensortable.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace retro::trace::file
{

using base::Result;

namespace
{

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueKind;

/// Most bytes of each value's constant that are written.
std::vector<std::int64_t> keptBytes(const Graph& graph)
{
    std::vector<std::int64_t> bytes(graph.values().size(), kSmallConstantBytes);
    for (const graph::Node& node : graph.nodes()) {
        for (const ValueId input : ops::isLut(node) ? node.inputs : std::vector<ValueId>()) {
            if (input.isValid()) {
                bytes[input.index()] = kTableConstantBytes;
            }
        }
    }
    return bytes;
}

Result<void> writeValues(Database& database, const Graph& graph, TensorPool& pool, RowCounts& counts)
{
    RowWriter rows(database, kValues);
    const std::vector<std::int64_t> kept = keptBytes(graph);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const graph::Value& value = graph.value(ValueId(i));
        ByteWriter shape;
        put(shape, value.shape);
        const bool isSmall = value.constant.isValid() && value.constant.bytes() <= kept[i];
        rows.text(value.name);
        rows.integer(static_cast<std::int64_t>(value.kind)).integer(static_cast<std::int64_t>(value.dtype));
        rows.blob(shape.bytes()).integer(isSmall ? pool.add(value.constant) : -1);
        RETRO_CHECK(rows.endRow());
    }
    counts[positionOf(kValues)] = rows.rows();
    return {};
}

Result<void> writeNodes(Database& database, const Graph& graph, RowCounts& counts)
{
    RowWriter rows(database, kNodes);
    RowWriter attributes(database, kAttributes);
    RowWriter metadata(database, kMetadata);
    for (const graph::Node& node : graph.nodes()) {
        ByteWriter inputs;
        put(inputs, node.inputs);
        ByteWriter outputs;
        put(outputs, node.outputs);
        for (const auto& [name, attribute] : node.attributes) {
            ByteWriter value;
            put(value, attribute);
            RETRO_CHECK(attributes.integer(rows.rows()).text(name).blob(value.bytes()).endRow());
        }
        for (const auto& [name, text] : node.metadata) {
            RETRO_CHECK(metadata.integer(rows.rows()).text(name).text(text).endRow());
        }
        rows.text(node.op).text(node.domain).text(node.name).text(node.scope).integer(node.opset);
        RETRO_CHECK(rows.blob(inputs.bytes()).blob(outputs.bytes()).endRow());
    }
    counts[positionOf(kNodes)] = rows.rows();
    counts[positionOf(kAttributes)] = attributes.rows();
    counts[positionOf(kMetadata)] = metadata.rows();
    return {};
}

Result<void> writeOutputs(Database& database, const Graph& graph, RowCounts& counts)
{
    RowWriter rows(database, kOutputs);
    for (const ValueId output : graph.outputs()) {
        RETRO_CHECK(rows.integer(output.value).endRow());
    }
    counts[positionOf(kOutputs)] = rows.rows();
    return {};
}

Result<void> writeOpsets(Database& database, const Graph& graph, RowCounts& counts)
{
    RowWriter rows(database, kOpsets);
    for (const auto& [domain, version] : graph.opsets()) {
        RETRO_CHECK(rows.text(domain).integer(version).endRow());
    }
    counts[positionOf(kOpsets)] = rows.rows();
    return {};
}

/// Puts a graph together from its tables.
class GraphReader
{
public:
    GraphReader(Database& database, std::int64_t version, const RowCounts& counts, const std::vector<Tensor>& tensors)
        : m_database(database), m_counts(counts), m_tensors(tensors),
          m_hasMetadata(countedOf(version) > positionOf(kMetadata))
    {}

    Result<std::shared_ptr<const Graph>> read()
    {
        RETRO_CHECK(each(kGraph, [this](RowReader& rows) -> Result<void> {
            m_builder = GraphBuilder(rows.text());
            return rows.check();
        }));
        RETRO_CHECK(each(kOpsets, [this](RowReader& rows) -> Result<void> {
            const std::string domain = rows.text();
            m_builder.setOpset(domain, rows.integer());
            return rows.check();
        }));
        RETRO_CHECK(each(kValues, [this](RowReader& rows) { return readValue(rows); }));
        RETRO_CHECK(each(kNodes, [this](RowReader& rows) { return readNode(rows); }));
        RETRO_CHECK(each(kAttributes, [this](RowReader& rows) { return readAttribute(rows); }));
        if (m_hasMetadata) {
            RETRO_CHECK(each(kMetadata, [this](RowReader& rows) { return readMetadata(rows); }));
        }
        RETRO_CHECK(each(kOutputs, [this](RowReader& rows) -> Result<void> {
            m_builder.addOutput(ValueId(rows.index(m_values)));
            return rows.check();
        }));
        return build();
    }

private:
    template <class Row>
    Result<void> each(const Table& table, Row&& row)
    {
        RowReader rows(m_database, table, m_counts[positionOf(table)]);
        while (true) {
            RETRO_TRY(const bool isThere, rows.next());
            if (!isThere) {
                return {};
            }
            RETRO_CHECK(row(rows));
        }
    }

    Result<void> readValue(RowReader& rows)
    {
        std::string name = rows.text();
        const auto kind = static_cast<ValueKind>(rows.index(3));
        const auto dtype = static_cast<tensor::DType>(rows.index(kDTypeCount));
        ByteReader from(rows.blob());
        DeclaredShape shape = getDeclaredShape(from);
        const std::int64_t tensor = rows.integer();
        const bool isTensor = tensor >= -1 && tensor < static_cast<std::int64_t>(m_tensors.size());
        RETRO_CHECK(rows.check(from.isDone() && isTensor, "the shape or the tensor of the value is wrong"));
        ++m_values;
        if (kind == ValueKind::Input) {
            m_builder.addInput(std::move(name), dtype, std::move(shape));
        } else if (kind == ValueKind::Constant) {
            const ValueId id =
                m_builder.addConstant(std::move(name), tensor < 0 ? Tensor() : m_tensors[std::size_t(tensor)]);
            m_builder.declare(id, dtype, std::move(shape));
        } else {
            m_builder.declare(m_builder.addResult(std::move(name)), dtype, std::move(shape));
        }
        return {};
    }

    Result<void> readNode(RowReader& rows)
    {
        graph::Node node;
        node.op = rows.text();
        node.domain = rows.text();
        node.name = rows.text();
        node.scope = rows.text();
        node.opset = rows.integer();
        ByteReader inputs(rows.blob());
        node.inputs = getValueIds(inputs);
        ByteReader outputs(rows.blob());
        node.outputs = getValueIds(outputs);
        const bool isGood = inputs.isDone() && outputs.isDone() && areValues(node.inputs) && areValues(node.outputs);
        RETRO_CHECK(rows.check(isGood, "the node names a value that does not exist"));
        m_nodes.push_back(std::move(node));
        return {};
    }

    [[nodiscard]] bool areValues(const std::vector<ValueId>& ids) const
    {
        return std::all_of(ids.begin(), ids.end(),
                           [this](ValueId id) { return !id.isValid() || id.index() < m_values; });
    }

    Result<void> readAttribute(RowReader& rows)
    {
        const std::size_t node = rows.index(m_nodes.size());
        std::string name = rows.text();
        ByteReader from(rows.blob());
        graph::Attribute value = getAttribute(from);
        RETRO_CHECK(rows.check(from.isDone(), "the attribute is not whole"));
        m_nodes[node].attributes.insert_or_assign(std::move(name), std::move(value));
        return {};
    }

    Result<void> readMetadata(RowReader& rows)
    {
        const std::size_t node = rows.index(m_nodes.size());
        std::string name = rows.text();
        std::string text = rows.text();
        RETRO_CHECK(rows.check());
        m_nodes[node].metadata.insert_or_assign(std::move(name), std::move(text));
        return {};
    }

    Result<std::shared_ptr<const Graph>> build()
    {
        std::vector<std::string> names;
        for (graph::Node& node : m_nodes) {
            names.push_back(node.name);
            m_builder.addNode(std::move(node));
        }
        RETRO_TRY(auto built, base::within(std::move(m_builder).build(), m_database.path() + ": the graph is damaged"));
        RETRO_CHECK(checkOrder(built, names));
        RETRO_CHECK(checkOutputs(built));
        return std::make_shared<const Graph>(std::move(built));
    }

    /// The builder sorts and renames; a file that it had to change was not written by us.
    [[nodiscard]] Result<void> checkOrder(const Graph& graph, const std::vector<std::string>& names) const
    {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (graph.node(base::NodeId(i)).name != names[i]) {
                return damaged(kNodes, i, "the nodes are not in the order of the graph");
            }
        }
        return {};
    }

    [[nodiscard]] Result<void> checkOutputs(const Graph& graph) const
    {
        for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
            const graph::Value& value = graph.value(graph.outputs()[i]);
            if (value.kind == ValueKind::Result && !value.producer.isValid()) {
                return damaged(kOutputs, i, "no node produces this output");
            }
        }
        return {};
    }

    [[nodiscard]] base::Error damaged(const Table& table, std::size_t row, const std::string& what) const
    {
        return base::inputError("the file is damaged: " + what + "; record the run again",
                                fmt::format("{}: table {}, row {}", m_database.path(), table.name, row));
    }

    Database& m_database;
    const RowCounts& m_counts;
    const std::vector<Tensor>& m_tensors;
    bool m_hasMetadata;
    GraphBuilder m_builder;
    std::size_t m_values = 0;
    std::vector<graph::Node> m_nodes;
};

/// Writes the graph: values, nodes, attributes, outputs, operator sets. Data of small constants goes to the pool; of
/// large ones only type and shape are written. Errors: Output.
Result<void> writeGraph(Database& database, const Graph& graph, TensorPool& pool, RowCounts& counts)
{
    RowWriter rows(database, kGraph);
    RETRO_CHECK(rows.text(graph.name()).endRow());
    counts[positionOf(kGraph)] = rows.rows();
    RETRO_CHECK(writeOpsets(database, graph, counts));
    RETRO_CHECK(writeValues(database, graph, pool, counts));
    RETRO_CHECK(writeNodes(database, graph, counts));
    return writeOutputs(database, graph, counts);
}

/// Reads it back from a file of this version with the same ids; constants that were left out have type and shape and no
/// data. Errors: Input.
Result<std::shared_ptr<const Graph>> readGraph(Database& database, std::int64_t version, const RowCounts& counts,
                                               const std::vector<Tensor>& tensors)
{
    return GraphReader(database, version, counts, tensors).read();
}

Result<void> createTables(Database& database)
{
    RETRO_CHECK(database.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; BEGIN", kApplicationId, kRunFileVersion)));
    for (const Table* table : kCounted) {
        RETRO_CHECK(database.execute(table->createSql()));
    }
    return database.execute(kContents.createSql());
}

Result<void> writeContents(Database& database, const RowCounts& counts)
{
    RowWriter rows(database, kContents);
    for (std::size_t i = 0; i < kCounted.size(); ++i) {
        RETRO_CHECK(rows.text(kCounted[i]->name).integer(counts[i]).endRow());
    }
    return {};
}

/// What is written beside a run; null where there is none.
struct Beside
{
    std::span<const Note> notes{};
    const RunPlan* plan = nullptr;
    const RunRegion* region = nullptr;
    const RunText* text = nullptr;
};

Result<void> writeTo(const std::filesystem::path& path, const Run& run, const Beside& beside,
                     const std::stop_token& stop)
{
    RETRO_TRY(Database database, Database::create(path));
    RETRO_CHECK(createTables(database));
    RowCounts counts{};
    TensorPool pool;
    RETRO_CHECK(writeGraph(database, *run.graph, pool, counts));
    RETRO_CHECK(writeSmallTables(database, run, counts));
    RETRO_CHECK(writeNotes(database, beside.notes, counts));
    RETRO_CHECK(writeForwardValues(database, run, pool, counts));
    RETRO_CHECK(writeChunks(database, run, pool, counts, stop));
    RETRO_CHECK(writePlan(database, beside.plan, counts));
    RETRO_CHECK(writeRegion(database, run, beside.region, pool, counts));
    RETRO_CHECK(writeProfile(database, run, counts));
    RETRO_CHECK(writeText(database, beside.text, pool, counts));
    RETRO_CHECK(writeTensors(database, pool, counts, stop));
    RETRO_CHECK(writeContents(database, counts));
    return database.execute("COMMIT");
}

base::Error notARunFile(const std::string& path)
{
    return base::inputError("this is not a run file; record one: explain MODEL INPUT --output-dir DIR --run FILE.retro",
                            path);
}

/// The version of the file.
Result<std::int64_t> readVersion(Database& database)
{
    RETRO_TRY(const std::int64_t application, database.pragma("application_id"));
    if (application != kApplicationId) {
        return notARunFile(database.path());
    }
    RETRO_TRY(const std::int64_t version, database.pragma("user_version"));
    if (version > kRunFileVersion) {
        return base::inputError(fmt::format("this run file has format version {}, which a newer Retrograde wrote; this "
                                            "one reads up to version {}: update it, or record the run again",
                                            version, kRunFileVersion),
                                database.path());
    }
    if (version < 1) {
        return notARunFile(database.path());
    }
    return version;
}

/// The schema must be exactly ours: no views, no triggers, no generated columns.
Result<void> checkSchema(Database& database, std::span<const Table* const> tables)
{
    std::vector<std::string> expected;
    for (const Table* table : tables) {
        expected.push_back(table->createSql());
    }
    expected.push_back(kContents.createSql());
    std::vector<std::string> found;
    const StatementPointer statement = database.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid");
    while (statement && found.size() <= expected.size() && sqlite3_step(statement.get()) == SQLITE_ROW) {
        const auto* sql = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
        found.emplace_back(sql == nullptr ? "" : sql);
    }
    if (found != expected) {
        if (database.isOutOfMemory()) {
            return base::outOfMemory();
        }
        return base::inputError("the file is damaged: its tables are not those of a run; record the run again",
                                database.path());
    }
    return {};
}

Result<RowCounts> readContents(Database& database, std::size_t tables)
{
    RowCounts counts{};
    RowReader rows(database, kContents, static_cast<std::int64_t>(tables));
    for (std::size_t i = 0; i < tables; ++i) {
        RETRO_TRY(const bool isThere, rows.next());
        const std::string name = isThere ? rows.text() : std::string();
        counts[i] = isThere ? rows.integer() : 0;
        RETRO_CHECK(rows.check(isThere && name == kCounted[i]->name && counts[i] >= 0, "it is not the table's turn"));
    }
    return counts;
}

Result<RecordedRun> readFrom(const std::filesystem::path& path)
{
    const base::ReadingScope scope("the run", path);
    RETRO_TRY(Database database, Database::open(path));
    RETRO_TRY(const std::int64_t version, readVersion(database));
    const std::size_t tables = countedOf(version);
    RETRO_CHECK(checkSchema(database, std::span(kCounted).first(tables)));
    RETRO_TRY(const RowCounts counts, readContents(database, tables));
    std::error_code ec;
    const std::uint64_t fileBytes = std::filesystem::file_size(path, ec);
    RETRO_TRY(const std::vector<Tensor> tensors, readTensors(database, counts, ec ? 0 : fileBytes));
    auto run = std::make_shared<Run>();
    RETRO_TRY(run->graph, readGraph(database, version, counts, tensors));
    RETRO_CHECK(readChunks(database, version, counts, tensors, *run));
    RETRO_CHECK(readSmallTables(database, counts, *run));
    RETRO_CHECK(readForwardValues(database, counts, tensors, *run));
    if (tables > positionOf(kDecisions)) {
        RETRO_CHECK(readProfile(database, counts, *run));
    }
    RecordedRun recorded;
    if (tables > positionOf(kPlan)) {
        RETRO_TRY(recorded.plan, readPlan(database, counts, *run));
    }
    if (tables > positionOf(kText)) {
        RETRO_TRY(recorded.text, readText(database, counts, tensors, *run));
    }
    if (tables > positionOf(kNotes)) {
        RETRO_TRY(recorded.notes, readNotes(database, counts, *run));
    }
    if (tables > positionOf(kRegion)) {
        RETRO_TRY(recorded.region, readRegion(database, counts, tensors, *run));
    }
    recorded.run = std::move(run);
    return recorded;
}

/// Arrays by node or value are whole or missing.
Result<void> checkWritable(const Run& run)
{
    const auto isWhole = [](std::size_t size, std::size_t whole) { return size == 0 || size == whole; };
    if (!run.graph || !isWhole(run.rules.size(), run.graph->nodeCount()) ||
        !isWhole(run.shapes.size(), run.graph->valueCount()) || run.values.size() > run.graph->valueCount()) {
        return base::Error{base::ErrorCode::Bug, "the run does not fit its graph", {}};
    }
    if (run.facts.input && !areReadable(*run.facts.input)) {
        return base::Error{base::ErrorCode::Bug, "what the run says of its input is beyond the limits of a file", {}};
    }
    return {};
}

Result<void> checkNotes(const Run& run, std::span<const Note> notes)
{
    const bool areGood = notes.size() <= kMostNotes && std::all_of(notes.begin(), notes.end(), [&](const Note& note) {
                             return note.position <= run.eventCount() && note.text.size() <= kMostNoteBytes;
                         });
    return areGood ? Result<void>() : base::Error{base::ErrorCode::Bug, "the notes do not fit the run", {}};
}

} // namespace

} // namespace retro::trace::file

namespace retro::trace
{

using base::Result;

Result<void> writeRun(const std::filesystem::path& path, const Run& run, std::stop_token stop)
{
    return writeRecorded(path, run, {}, std::move(stop));
}

namespace
{

Result<void> write(const std::filesystem::path& path, const Run& run, const file::Beside& beside,
                   const std::stop_token& stop)
{
    RETRO_CHECK(file::checkWritable(run));
    RETRO_CHECK(file::checkNotes(run, beside.notes));
    if (beside.text != nullptr && !file::isReadable(*beside.text)) {
        return base::Error{base::ErrorCode::Bug, "the text of the run is beyond the limits of a file", {}};
    }
    return base::writeThrough(
        path, [&](const std::filesystem::path& temporary) { return file::writeTo(temporary, run, beside, stop); });
}

} // namespace

Result<void> writeRecorded(const std::filesystem::path& path, const Run& run, std::span<const Note> notes,
                           std::stop_token stop)
{
    return write(path, run, {notes, nullptr, nullptr, nullptr}, stop);
}

Result<void> writeRecorded(const std::filesystem::path& path, const RecordedRun& recorded, std::stop_token stop)
{
    return write(path, *recorded.run, {recorded.notes, recorded.plan.get(), recorded.region.get(), recorded.text.get()},
                 stop);
}

Result<std::shared_ptr<const Run>> readRun(const std::filesystem::path& path)
{
    RETRO_TRY(RecordedRun recorded, readRecorded(path));
    return std::move(recorded.run);
}

Result<RecordedRun> readRecorded(const std::filesystem::path& path) { return file::readFrom(path); }

} // namespace retro::trace
