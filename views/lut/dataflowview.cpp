// SPDX-License-Identifier: Apache-2.0
#include "views/lut/dataflowview.h"

#include "kernels/lut/callchecks.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/emptystate.h"
#include "views/lut/dataflowpane.h"
#include "views/lut/lutchoice.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStackedLayout>

#include <algorithm>
#include <utility>

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

namespace
{

/// Why a layer cannot take the documented path; empty when it can.
QString documentedProblem(const LutLayer& layer)
{
    for (const lut::Pass pass : {lut::Pass::Forward, lut::Pass::Backward}) {
        lut::ScheduleRequest request = layer.request;
        request.path = lut::Path::Documented;
        request.pass = pass;
        lut::Schedule schedule;
        lut::Status status = lut::makeSchedule(request, schedule);
        status = status.ok() ? lut::checkScratch(schedule, request.batch, lut::kScratchLimit) : status;
        if (!status.ok()) {
            return QString::fromStdString(status.message);
        }
    }
    return {};
}

} // namespace

DataFlowView::DataFlowView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent)
    : View(model, cursor, selection, parent), m_choice(choice), m_jobs(new JobRunner(this))
{
    setAccessibleName(tr("Data flow of a LUT layer"));
    setEmptyText(tr("The kernels of a LUT layer appear here, once a model with one was explained."));
    auto* pages = new QWidget(this);
    m_pages = new QStackedLayout(pages);
    auto* body = new QWidget(pages);
    auto* none = new EmptyState(pages);
    none->showEmpty(lutEmptyReason(choice), tr("Open a LUT sample"));
    connect(none, &EmptyState::activated, this, &DataFlowView::sampleWanted);
    m_pages->addWidget(body);
    m_pages->addWidget(none);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeTools());
    m_pane = new DataFlowPane(body);
    m_pane->setAccessibleName(tr("Kernels and buffers"));
    m_scroll = new QScrollArea(body);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setWidget(m_pane);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->viewport()->installEventFilter(this);
    column->addWidget(m_scroll, 1);
    setBody(pages);
    connect(m_pane, &DataFlowPane::launchChosen, this,
            [this](std::uint64_t position) { this->cursor().moveTo(position); });
    connect(&choice, &LutChoice::layerChanged, this, [this] { schedule(Change::Run); });
}

QWidget* DataFlowView::makeTools()
{
    auto* line = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(line, {fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(6));
    m_layers = new QComboBox(line);
    m_layers->setAccessibleName(tr("LUT layer"));
    m_layers->setToolTip(tr("Which LUT layer of the model is shown"));
    m_paths = new QComboBox(line);
    m_paths->setAccessibleName(tr("Path"));
    m_paths->setToolTip(
        tr("The fused path has few kernels; the documented one has every stage as a kernel of its own"));
    m_paths->addItems({tr("fused path"), tr("documented path")});
    m_runPath = new QPushButton(tr("Run on this path"), line);
    m_runPath->hide();
    m_now = new ElidedLabel({}, Role::Text2, fonts::label(), line);
    row->addWidget(m_layers);
    row->addWidget(m_paths);
    row->addWidget(m_runPath);
    row->addWidget(m_now, 1);
    connect(m_layers, &QComboBox::activated, &m_choice, &LutChoice::chooseLayer);
    connect(m_paths, &QComboBox::activated, &m_choice,
            [this](int index) { m_choice.choosePath(index == 0 ? lut::Path::Fused : lut::Path::Documented); });
    connect(m_runPath, &QPushButton::clicked, this, [this] { emit pathWanted(m_choice.path()); });
    return line;
}

bool DataFlowView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_scroll->viewport() && event->type() == QEvent::Resize) {
        // Also where the bar for scrolling down is not yet there: it comes with the picture.
        m_pane->setRoom(m_scroll->width() - m_scroll->verticalScrollBar()->sizeHint().width());
        reveal();
    }
    return View::eventFilter(watched, event);
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

/// That there is no layer is said on a page of its own, with the way to one.
QString DataFlowView::emptyReason() const { return {}; }

void DataFlowView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run) || changes.testFlag(Change::Theme)) {
        m_asked.reset();
        takeLayer();
    }
    m_pane->setPosition(model().position());
    m_now->setText(sentence());
    wantBuffers();
    reveal();
}

/// Scrolls to the kernel at the cursor when that is another one; what a person scrolled to stays otherwise.
void DataFlowView::reveal()
{
    const QRectF now = m_pane->currentRect();
    if (std::exchange(m_revealed, now) == now || now.isNull()) {
        return;
    }
    const int margin = fonts::px(60); // its buffers lie around it
    m_scroll->ensureVisible(qRound(now.center().x()), qRound(now.center().y()), qRound(now.width() / 2) + margin,
                            qRound(now.height() / 2) + margin);
}

/// What the buffers hold behind the current launch, worked out off the GUI thread.
void DataFlowView::wantBuffers()
{
    const std::optional<RunLaunch> current = m_pane->current();
    const bool isThere = current && model().hasRun() && current->position <= model().run().events.size();
    const std::optional<std::uint64_t> wanted = isThere ? std::optional(current->position) : std::nullopt;
    if (wanted == m_asked) {
        return;
    }
    m_asked = wanted;
    m_jobs->cancel();
    m_pane->setBuffers(nullptr);
    if (!wanted) {
        return;
    }
    m_jobs->start([this, run = model().sharedRun(), position = *wanted](const std::stop_token&) -> JobRunner::Delivery {
        // Where the run lacks values the boxes keep to their shapes; the views of tables say why.
        auto made = trace::launchDetail(*run, position - 1);
        auto detail = made.ok() ? std::make_shared<const trace::LaunchDetail>(std::move(*made)) : nullptr;
        return [this, detail] { m_pane->setBuffers(detail); };
    });
}

QString DataFlowView::sentence() const
{
    const LutLayer* layer = m_choice.layer();
    const QString now = m_pane->sentence();
    if (!now.isEmpty() || layer == nullptr) {
        return now;
    }
    if (layer->launches.empty()) {
        return tr("no kernel was recorded for this layer");
    }
    if (m_choice.path() != layer->path) {
        const QString problem = m_choice.path() == lut::Path::Documented ? documentedProblem(*layer) : QString();
        return problem.isEmpty() ? tr("this path did not run") : problem;
    }
    return tr("← → go from kernel to kernel");
}

void DataFlowView::showPath()
{
    const QSignalBlocker blocker(m_paths);
    m_paths->setCurrentIndex(m_choice.path() == lut::Path::Fused ? 0 : 1);
    const LutLayer* layer = m_choice.layer();
    const bool isOther = layer != nullptr && !layer->launches.empty() && m_choice.path() != layer->path;
    m_runPath->setVisible(isOther);
    const QString problem = isOther && m_choice.path() == lut::Path::Documented ? documentedProblem(*layer) : QString();
    m_runPath->setEnabled(problem.isEmpty());
    m_runPath->setToolTip(problem.isEmpty() ? tr("Explains again with all LUT layers on this path") : problem);
}

void DataFlowView::takeLayer()
{
    m_pages->setCurrentIndex(m_choice.layer() != nullptr ? 0 : 1);
    showLayers();
    showPath();
    const LutLayer* layer = m_choice.layer();
    const bool hasRun = layer != nullptr && m_choice.path() == layer->path;
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

bool DataFlowView::canBeWritten() const { return m_choice.layer() != nullptr; }

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

#include "moc_dataflowview.cpp"
