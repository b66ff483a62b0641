// SPDX-License-Identifier: Apache-2.0
#include "views/program/programmodel.h"

#include "core/trace/runprogram.h"
#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"
#include "views/common/widgets/tablecell.h"

#include <map>
#include <utility>

namespace retro::views
{

namespace
{

using event::EventKind;
using program::Instruction;
using program::Opcode;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// Where in the run the traversal did what an instruction does.
class Positions
{
public:
    explicit Positions(const trace::Run& run)
    {
        for (std::size_t i = 0; i < run.events.size(); ++i) {
            note(run.events[i], i + 1);
        }
    }

    [[nodiscard]] std::uint64_t of(const Instruction& step) const
    {
        switch (step.opcode) {
        case Opcode::Fetch:
        case Opcode::Constant:
        case Opcode::Carry:
            return find(m_arguments, {step.promise.value, step.branch});
        case Opcode::Forward:
            return find(m_ready, {step.promise.value, 0});
        case Opcode::Start:
            return step.item < m_starts.size() ? m_starts[step.item] : 0;
        case Opcode::Sum:
        case Opcode::Snapshot:
            return find(m_relevance, {step.node.value, step.item});
        case Opcode::Rule:
            return find(m_rules, {step.node.value, 0});
        }
        return 0;
    }

private:
    using Found = std::map<Pair, std::uint64_t>;

    void note(const trace::Event& event, std::uint64_t position)
    {
        switch (event.kind) {
        case EventKind::Arg:
            m_arguments.emplace(Pair{event.promise, event.branch}, position);
            break;
        case EventKind::Ready:
            m_ready.emplace(Pair{event.promise, 0}, position);
            break;
        case EventKind::Relevance:
            m_relevance.emplace(Pair{event.node, event.slot}, position);
            break;
        case EventKind::Rule:
            m_rules.emplace(Pair{event.node, 0}, position);
            break;
        case EventKind::Land:
            if (event.other == base::NodeId::kInvalid) {
                m_starts.push_back(position);
            }
            break;
        default:
            break;
        }
    }

    static std::uint64_t find(const Found& found, const Pair& what)
    {
        const auto at = found.find(what);
        return at == found.end() ? 0 : at->second;
    }

    Found m_arguments;
    Found m_ready;
    Found m_relevance;
    Found m_rules;
    std::vector<std::uint64_t> m_starts;
};

QString namesOf(const std::vector<program::BufferId>& buffers)
{
    QStringList names;
    for (const program::BufferId buffer : buffers) {
        names.append(QString::fromStdString(program::nameOf(buffer)));
    }
    return names.join(QStringLiteral(", "));
}

} // namespace

ProgramRows::ProgramRows(const trace::Run& run)
{
    const base::Result<program::Program> made = trace::programOf(run);
    if (!made) {
        fault = made.error().message;
        return;
    }
    key = made->key;
    arguments = made->argsEnd;
    instructions = made->instructions.size();
    buffers = made->buffers.size();
    const Positions positions(run);
    bool wasArgument = false;
    for (program::ListedInstruction& step : program::listing(*made, *run.graph)) {
        if (rows.empty() || step.isArgument != wasArgument) {
            Row heading;
            heading.isHeading = true;
            heading.step.isArgument = step.isArgument;
            rows.push_back(std::move(heading));
        }
        wasArgument = step.isArgument;
        const Instruction& instruction = made->instructions[step.index];
        rows.push_back({std::move(step), false, positions.of(instruction), instruction.promise});
    }
}

int ProgramRows::lastDone(std::uint64_t position) const
{
    int last = -1;
    std::uint64_t latest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].isHeading && rows[i].position <= position && rows[i].position >= latest && rows[i].position > 0) {
            last = static_cast<int>(i);
            latest = rows[i].position;
        }
    }
    return last;
}

ProgramModel::ProgramModel(QObject* parent)
    : ColumnTable({{tr("No."), Cells::Figures},
                   {tr("Makes")},
                   {tr("Does")},
                   {tr("Node")},
                   {tr("From")},
                   {tr("For")},
                   {tr("Lets go")}},
                  parent)
{}

void ProgramModel::setProgram(std::shared_ptr<const ProgramRows> rows, std::shared_ptr<const trace::Run> run)
{
    beginResetModel();
    m_rows = std::move(rows);
    m_run = std::move(run);
    m_cursorRow = m_rows->lastDone(m_position);
    endResetModel();
}

void ProgramModel::setPosition(std::uint64_t position)
{
    if (position != m_position) {
        m_position = position;
        m_cursorRow = m_rows->lastDone(position);
        cellsChanged();
    }
}

void ProgramModel::setSelected(base::NodeId node, base::PromiseId promise)
{
    if (node != m_node || promise != m_promise) {
        m_node = node;
        m_promise = promise;
        cellsChanged();
    }
}

bool ProgramModel::isChosen(const ProgramRows::Row& row) const
{
    return !row.isHeading &&
           ((m_node.isValid() && row.step.node == m_node) || (m_promise.isValid() && row.promise == m_promise));
}

int ProgramModel::selectedRow() const
{
    for (int row = 0; row < rowCount(); ++row) {
        if (isChosen(at(row))) {
            return row;
        }
    }
    return -1;
}

QString ProgramModel::headingOf(const ProgramRows::Row& row) const
{
    const auto count =
        static_cast<std::int64_t>(row.step.isArgument ? m_rows->arguments : m_rows->instructions - m_rows->arguments);
    return row.step.isArgument ? tr("ARGS – %1 instructions make the values that rules ask for").arg(countText(count))
                               : tr("REL – %1 instructions carry relevance").arg(countText(count));
}

QString ProgramModel::cellOf(const ProgramRows::Row& row, int column) const
{
    switch (column) {
    case NumberColumn:
        return countText(std::int64_t{row.step.index});
    case MakesColumn:
        return namesOf(row.step.made);
    case DoesColumn:
        return QString::fromUtf8(program::nameOf(row.step.opcode).data());
    case NodeColumn:
        return RunModel::placeLabel(*m_run->graph, row.step.node);
    case ReadsColumn:
        return QString::fromStdString(row.step.reads);
    case PromiseColumn:
        return QString::fromStdString(row.step.promise);
    default:
        return namesOf(row.step.lastUses);
    }
}

/// A heading stands in the first column alone.
QString ProgramModel::textOf(int row, int column) const
{
    if (!at(row).isHeading) {
        return cellOf(at(row), column);
    }
    return column == 0 ? headingOf(at(row)) : QString();
}

int ProgramModel::rows() const { return static_cast<int>(m_rows->rows.size()); }

QVariant ProgramModel::detailOf(int at, int column, int role) const
{
    const ProgramRows::Row& row = this->at(at);
    switch (role) {
    case Qt::ToolTipRole:
        return row.isHeading ? headingOf(row) : QString::fromStdString(row.step.text);
    case Qt::TextAlignmentRole:
        return cellAlignment(column == NumberColumn && !row.isHeading);
    case IsHeadingRole:
        return row.isHeading;
    case IsLaterRole:
        return !row.isHeading && row.position > m_position;
    case IsCursorRole:
        return at == m_cursorRow;
    case IsChosenRole:
        return isChosen(row);
    default:
        return {};
    }
}

Qt::ItemFlags ProgramModel::flags(const QModelIndex& index) const
{
    const bool isHeading = index.isValid() && index.row() < rowCount() && at(index.row()).isHeading;
    return isHeading ? Qt::ItemFlags(Qt::ItemIsEnabled) : QAbstractTableModel::flags(index);
}

} // namespace retro::views

#include "moc_programmodel.cpp"
