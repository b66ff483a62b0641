// SPDX-License-Identifier: Apache-2.0
#include "views/watch/watchmodel.h"

#include "core/trace/lutlaunch.h"
#include "views/common/numbertext.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

WatchModel::WatchModel(const RunModel& model, QObject* parent)
    : ColumnTable({{tr("Expression")}, {tr("Now"), Cells::Figures}, {tr("Change"), Cells::Figures}}, parent),
      m_model(model)
{}

base::Result<void> WatchModel::add(const QString& text)
{
    RETRO_TRY(WatchExpression expression, WatchExpression::parse(text));
    const bool isThere =
        std::any_of(m_rows.begin(), m_rows.end(), [&](const Row& row) { return row.expression == expression; });
    if (isThere) {
        return {};
    }
    const int end = rowCount();
    if (end >= kMostRows) {
        return base::usageError(tr("%1 expressions are watched; remove one first").arg(end).toStdString());
    }
    beginInsertRows({}, end, end);
    m_rows.push_back({std::move(expression), {}, {}, {}, std::nullopt});
    bind(m_rows.back());
    evaluate(m_rows.back());
    endInsertRows();
    return {};
}

void WatchModel::remove(int row)
{
    beginRemoveRows({}, row, row);
    m_rows.erase(m_rows.begin() + row);
    endRemoveRows();
}

void WatchModel::removeAll()
{
    beginResetModel();
    m_rows.clear();
    endResetModel();
}

QStringList WatchModel::texts() const
{
    QStringList texts;
    for (const Row& row : m_rows) {
        texts.append(row.expression.text());
    }
    return texts;
}

void WatchModel::bind(Row& row) const
{
    row.value = {};
    row.relevance = {};
    row.before.reset();
    row.now = {};
    if (!m_model.hasRun()) {
        return;
    }
    const auto found = valueNamed(m_model.graph(), row.expression.name);
    if (!found.ok()) {
        row.now = {std::nullopt, QString::fromStdString(found.error().message)};
        return;
    }
    row.value = *found;
    if (row.expression.of == WatchOf::Value) { // the same at every step
        const tensor::Tensor* tensor = m_model.forwardValue(row.value);
        row.now = tensor != nullptr ? partOf(*tensor, row.expression)
                                    : WatchResult{std::nullopt, tr("its value was not kept")};
    }
}

void WatchModel::evaluate(Row& row) const
{
    if (!m_model.hasRun() || !row.value.isValid() || row.expression.of == WatchOf::Value) {
        return;
    }
    const base::HandleId handle =
        row.expression.of == WatchOf::Buffer ? bufferHandle(row) : m_model.relevanceHandle(row.value);
    if (handle == row.relevance && (row.now.number || !row.now.reason.isEmpty())) {
        return;
    }
    const std::optional<double> before = row.now.number;
    row.relevance = handle;
    row.now = relevanceOf(row);
    if (before != row.now.number) {
        row.before = before;
    }
}

/// The buffer as the last launch before the cursor that touched it left it; invalid before the first.
base::HandleId WatchModel::bufferHandle(const Row& row) const
{
    const trace::Run& run = m_model.run();
    const base::NodeId node = m_model.graph().nodeOf(row.value);
    const std::string name = row.expression.buffer.toStdString();
    for (std::uint64_t step = std::min(m_model.position(), run.eventCount()); step-- > 0;) {
        const trace::Event& event = run.events[step];
        if (event.kind == event::EventKind::Buffer && event.node == node.value && trace::bufferName(event) == name) {
            return base::HandleId(event.handle);
        }
    }
    return {};
}

/// The sum of a tensor is known even when the tensor was dropped.
WatchResult WatchModel::relevanceOf(const Row& row) const
{
    if (!row.relevance.isValid()) {
        if (row.expression.of == WatchOf::Buffer) {
            return {std::nullopt, tr("no kernel has touched it yet")};
        }
        const graph::Value& value = m_model.graph().value(row.value);
        const bool comes = m_model.relevanceStep(m_model.graph().nodeOf(row.value), value.producerOutput).has_value();
        return {std::nullopt, comes ? tr("not known yet") : tr("no relevance comes here in this run")};
    }
    if (const tensor::Tensor* tensor = m_model.relevance(row.value, row.relevance)) {
        return partOf(*tensor, row.expression);
    }
    const bool isSum = row.expression.part == WatchPart::Sum && row.relevance.index() < m_model.run().handles.size();
    return isSum ? WatchResult{m_model.run().handles[row.relevance.index()].sum, {}}
                 : WatchResult{std::nullopt, tr("its tensor was not kept")};
}

void WatchModel::setRun()
{
    for (Row& row : m_rows) {
        bind(row);
        evaluate(row);
    }
    cellsChanged(NumberColumn);
}

void WatchModel::follow()
{
    for (Row& row : m_rows) {
        evaluate(row);
    }
    cellsChanged(NumberColumn);
}

QString WatchModel::changeText(const Row& row) const
{
    if (!row.now.number || !row.before) {
        return {};
    }
    const double change = *row.now.number - *row.before;
    return (change > 0 ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) + valueText(std::abs(change));
}

QString WatchModel::textOf(int at, int column) const
{
    const Row& row = m_rows[static_cast<std::size_t>(at)];
    if (column == ExpressionColumn) {
        return row.expression.text();
    }
    if (column == ChangeColumn) {
        return changeText(row);
    }
    return row.now.number ? valueText(*row.now.number) : QStringLiteral("–");
}

QVariant WatchModel::detailOf(int at, int column, int role) const
{
    const Row& row = m_rows[static_cast<std::size_t>(at)];
    if (role == Qt::EditRole) {
        return textOf(at, column);
    }
    return role != Qt::ToolTipRole ? QVariant()
           : row.now.number        ? row.expression.text()
                                   : tr("%1: %2").arg(row.expression.text(), row.now.reason);
}

Qt::ItemFlags WatchModel::flags(const QModelIndex& index) const
{
    const Qt::ItemFlags usual = QAbstractTableModel::flags(index);
    return index.isValid() && index.column() == ExpressionColumn ? usual | Qt::ItemIsEditable : usual;
}

bool WatchModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (role != Qt::EditRole || !index.isValid() || index.column() != ExpressionColumn) {
        return false;
    }
    auto expression = WatchExpression::parse(value.toString());
    if (!expression.ok()) {
        emit refused(QString::fromStdString(expression.error().message));
        return false;
    }
    Row& row = m_rows[static_cast<std::size_t>(index.row())];
    row.expression = std::move(expression).value();
    bind(row);
    evaluate(row);
    emit dataChanged(index, index.siblingAtColumn(ChangeColumn));
    return true;
}

} // namespace retro::views

#include "moc_watchmodel.cpp"
