// SPDX-License-Identifier: Apache-2.0
#include "views/program/programview.h"

#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/program/programmodel.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

/// Paints the rows of a program: headings strong, what the traversal does later pale, the last one done with a bar.
class ProgramDelegate final : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

bool isBufferColumn(int column)
{
    return column == ProgramModel::NumberColumn || column == ProgramModel::MakesColumn ||
           column == ProgramModel::ReadsColumn || column == ProgramModel::PromiseColumn ||
           column == ProgramModel::FreesColumn;
}

Role groundOf(const QStyleOptionViewItem& option, const QModelIndex& index)
{
    if (index.data(ProgramModel::IsHeadingRole).toBool()) {
        return Role::Alt;
    }
    const bool isMarked = option.state.testFlag(QStyle::State_Selected) ||
                          index.data(ProgramModel::IsChosenRole).toBool() ||
                          index.data(ProgramModel::IsCursorRole).toBool();
    return isMarked ? Role::Sel : Role::Base;
}

void paintText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isHeading = index.data(ProgramModel::IsHeadingRole).toBool();
    const bool isPale = index.data(ProgramModel::IsLaterRole).toBool();
    const QFont font = isHeading                        ? fonts::label(QFont::DemiBold)
                       : isBufferColumn(index.column()) ? fonts::smallNumbers()
                                                        : fonts::label();
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(6), 0, -fonts::px(6), 0);
    painter.setFont(font);
    painter.setPen(colors[isPale ? Role::Text3 : Role::Text]);
    painter.drawText(box, index.data(Qt::TextAlignmentRole).toInt() | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideRight, std::ceil(box.width())));
}

void ProgramDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    painter->fillRect(option.rect, colors[groundOf(option, index)]);
    if (index.column() == 0 && index.data(ProgramModel::IsCursorRole).toBool()) {
        painter->fillRect(QRect(option.rect.left(), option.rect.top(), fonts::px(3), option.rect.height()),
                          colors[Role::Accent]);
    }
    paintText(*painter, option, index, colors);
    painter->restore();
}

constexpr int kMostCopied = 20'000;

} // namespace

ProgramView::ProgramView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_items(new ProgramModel(this)), m_jobs(new JobRunner(this))
{
    setAccessibleName(tr("Compiled program"));
    setEmptyText(tr("What a relevance pass did appears here as a list of instructions, once something was explained."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    auto* line = new QWidget(body);
    auto* row = new QVBoxLayout(line);
    row->setContentsMargins(fonts::px(8), fonts::px(5), fonts::px(8), fonts::px(5));
    m_message = new ElidedLabel({}, Role::Text3, fonts::label(), line);
    row->addWidget(m_message);
    column->addWidget(line);
    makeTable();
    column->addWidget(m_table, 1);
    setBody(body);
}

void ProgramView::makeTable()
{
    m_table = new QTableView(this);
    m_table->setAccessibleName(tr("Instructions"));
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setItemDelegate(new ProgramDelegate(m_table));
    makeList(*m_table, *m_items, fonts::px(20));
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->horizontalHeader()->setMinimumSectionSize(fonts::px(36));
    sizeColumns();
    addItemAction(*m_table, tr("Copy rows"), QKeySequence::Copy, [this] { copy(); });
    connect(m_table, &QTableView::activated, this, &ProgramView::goTo);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &ProgramView::chooseRow);
}

void ProgramView::sizeColumns() { setColumnWidths(*m_table, {44, 76, 70, 132, 92, 52}); }

bool ProgramView::canShow(const SelectedThing& thing) const { return !std::holds_alternative<base::ValueId>(thing); }

QString ProgramView::emptyReason() const
{
    return model().hasRun() && model().run().eventCount() == 0
               ? tr("Nothing was run yet. Choose an input and press Run.")
               : QString();
}

bool ProgramView::isLoading() const { return m_jobs->isRunning(); }

QString ProgramView::message() const { return m_message->text(); }

void ProgramView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        derive();
    }
    if (changes.testFlag(Change::State)) {
        m_items->setPosition(model().position());
    }
    if (changes.testFlag(Change::Selection)) {
        followSelection();
    }
}

void ProgramView::derive()
{
    m_items->setProgram(std::make_shared<const ProgramRows>(), nullptr);
    m_message->setRole(Role::Text3);
    m_message->setText(tr("Deriving the program from the events …"));
    m_jobs->start([this, run = model().sharedRun()](const std::stop_token&) -> JobRunner::Delivery {
        auto rows = std::make_shared<const ProgramRows>(*run);
        return [this, run, rows] {
            m_items->setProgram(rows, run);
            m_table->clearSpans();
            for (int row = 0; row < m_items->rowCount(); ++row) {
                if (m_items->at(row).isHeading) {
                    m_table->setSpan(row, 0, 1, ProgramModel::ColumnCount);
                }
            }
            showMessage();
            followSelection();
        };
    });
}

void ProgramView::showMessage()
{
    const ProgramRows& program = m_items->program();
    m_message->setRole(program.fault.empty() ? Role::Text3 : Role::AlarmText);
    m_message->setText(program.fault.empty() ? tr("%1 instructions, %2 buffers; the next input of this kind runs them")
                                                   .arg(countText(static_cast<std::int64_t>(program.instructions)),
                                                        countText(static_cast<std::int64_t>(program.buffers)))
                                             : tr("No program: %1").arg(QString::fromStdString(program.fault)));
}

/// Rows about the selected node or promise are marked; the first comes into sight unless one was clicked here.
void ProgramView::followSelection()
{
    const auto promise = selection().promise();
    const base::NodeId node = promise || selection().isEmpty() ? base::NodeId() : model().nodeOf(selection().thing());
    m_items->setSelected(node, promise.value_or(base::PromiseId()));
    const QModelIndex first = m_items->index(m_items->selectedRow(), 0);
    if (!m_isChoosing && first.isValid()) {
        m_table->scrollTo(first);
    }
    m_isChoosing = false;
}

void ProgramView::chooseRow(const QModelIndex& index)
{
    if (index.isValid() && !m_items->at(index.row()).isHeading) {
        const base::NodeId node = m_items->at(index.row()).step.node;
        m_isChoosing = selection().node() != node; // else nothing follows
        selection().selectNode(node);
    }
}

void ProgramView::goTo(const QModelIndex& index)
{
    if (index.isValid() && m_items->at(index.row()).position > 0) {
        cursor().moveTo(m_items->at(index.row()).position);
    }
}

QString ProgramView::copiedText() const
{
    QModelIndexList chosen = m_table->selectionModel()->selectedRows();
    std::sort(chosen.begin(), chosen.end());
    QString text;
    for (const QModelIndex& index : chosen.mid(0, kMostCopied)) {
        QStringList cells;
        for (int column = 0; column < ProgramModel::ColumnCount; ++column) {
            cells.append(index.siblingAtColumn(column).data().toString());
        }
        text += cells.join(QLatin1Char('\t')) + QLatin1Char('\n');
    }
    return text;
}

void ProgramView::copy()
{
    const QString text = copiedText();
    if (!text.isEmpty()) {
        QApplication::clipboard()->setText(text);
    }
}

} // namespace retro::views

#include "moc_programview.cpp"
