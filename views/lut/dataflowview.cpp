// SPDX-License-Identifier: Apache-2.0
#include "views/lut/dataflowview.h"

#include "views/common/elidedlabel.h"
#include "views/common/fonts.h"
#include "views/common/paintfile.h"
#include "views/common/theme.h"
#include "views/lut/dataflowpane.h"
#include "views/lut/lutchoice.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QScrollArea>
#include <QSignalBlocker>

#include <algorithm>

namespace retro::views
{

QString lutEmptyReason(const LutChoice& choice)
{
    return choice.layer() != nullptr
               ? QString()
               : QCoreApplication::translate("retro::views::DataFlowView",
                                             "This model has no LUT layer. LUT layers choose rows "
                                             "of tables by comparing inputs.");
}

DataFlowView::DataFlowView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent)
    : View(model, cursor, selection, parent), m_choice(choice)
{
    setAccessibleName(tr("Data flow of a LUT layer"));
    setEmptyText(tr("The kernels of a LUT layer appear here, once a model with one was explained."));
    auto* body = new QWidget(this);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeTools());
    m_pane = new DataFlowPane(body);
    m_pane->setAccessibleName(tr("Kernels and buffers"));
    auto* scroll = new QScrollArea(body);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(m_pane);
    scroll->setFocusPolicy(Qt::NoFocus);
    column->addWidget(scroll, 1);
    setBody(body);
    connect(m_pane, &DataFlowPane::launchChosen, this,
            [this](std::uint64_t position) { this->cursor().moveTo(position); });
    connect(&choice, &LutChoice::layerChanged, this, [this] { schedule(Change::Run); });
}

QWidget* DataFlowView::makeTools()
{
    auto* line = new QWidget(this);
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4));
    row->setSpacing(fonts::px(6));
    m_layers = new QComboBox(line);
    m_layers->setAccessibleName(tr("LUT layer"));
    m_layers->setToolTip(tr("Which LUT layer of the model is shown"));
    m_paths = new QComboBox(line);
    m_paths->setAccessibleName(tr("Path"));
    m_paths->setToolTip(tr("The fused path ran; the documented one shows every stage as a kernel of its own"));
    m_paths->addItems({tr("fused path"), tr("documented path")});
    m_now = new ElidedLabel({}, Role::Text2, fonts::label(), line);
    row->addWidget(m_layers);
    row->addWidget(m_paths);
    row->addWidget(m_now, 1);
    connect(m_layers, &QComboBox::activated, &m_choice, &LutChoice::chooseLayer);
    connect(m_paths, &QComboBox::activated, &m_choice,
            [this](int index) { m_choice.choosePath(index == 0 ? lut::Path::Fused : lut::Path::Documented); });
    return line;
}

QString DataFlowView::subject() const
{
    const LutLayer* layer = m_choice.layer();
    return layer != nullptr && model().hasRun() ? tr("of %1").arg(model().placeLabel(layer->node)) : QString();
}

QString DataFlowView::hint() const
{
    return tr("Boxes are kernels in launch order, rounded ones are buffers. Dashed: reads. Solid: writes.");
}

bool DataFlowView::canShow(const SelectedThing& thing) const
{
    const auto* node = std::get_if<base::NodeId>(&thing);
    return node != nullptr &&
           std::ranges::any_of(m_choice.layers(), [&](const LutLayer& one) { return one.node == *node; });
}

QString DataFlowView::emptyReason() const { return lutEmptyReason(m_choice); }

void DataFlowView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run) || changes.testFlag(Change::Theme)) {
        takeLayer();
    }
    m_pane->setPosition(model().position());
    const QString sentence = m_pane->sentence();
    m_now->setText(!sentence.isEmpty() ? sentence
                   : m_choice.path() == lut::Path::Documented
                       ? tr("how the stages are described; this path did not run")
                   : m_choice.layer() != nullptr && m_choice.layer()->launches.empty()
                       ? tr("no kernel was recorded for this layer")
                       : tr("← → go from kernel to kernel"));
}

void DataFlowView::takeLayer()
{
    showLayers();
    const LutLayer* layer = m_choice.layer();
    const bool hasRun = layer != nullptr && m_choice.path() == lut::Path::Fused;
    m_pane->setLayer(m_choice.schedules(), hasRun ? layer->launches : std::vector<RunLaunch>());
    emit captionChanged();
}

void DataFlowView::showLayers()
{
    const QSignalBlocker blocker(m_layers);
    m_layers->clear();
    for (const LutLayer& layer : m_choice.layers()) {
        m_layers->addItem(model().placeLabel(layer.node));
        if (&layer == m_choice.layer()) {
            m_layers->setCurrentIndex(m_layers->count() - 1);
        }
    }
}

QStringList DataFlowView::exportFormats() const
{
    return m_choice.layer() == nullptr
               ? QStringList()
               : QStringList{QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("pdf")};
}

base::Result<void> DataFlowView::exportTo(const std::filesystem::path& path)
{
    if (m_pane->picture().boxes.empty()) {
        return base::usageError("there is no LUT layer to draw", path.string());
    }
    return paintToFile(
        path, m_pane->picture().size,
        [this](QPainter& painter) {
            painter.fillRect(QRectF(QPointF(), m_pane->picture().size), theme(this)[Role::Base]);
            m_pane->paintAll(painter);
        },
        title());
}

} // namespace retro::views
