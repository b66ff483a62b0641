// SPDX-License-Identifier: Apache-2.0
#include "views/common/view.h"

#include "core/base/file.h"
#include "views/common/paint/pagefile.h"
#include "views/common/paint/theme.h"
#include "views/common/run/runtexts.h"
#include "views/common/run/turns.h"
#include "views/common/widgets/emptystate.h"

#include <QMenu>
#include <QPainter>
#include <QScrollArea>
#include <QShowEvent>
#include <QStackedLayout>
#include <QTimer>

#include <utility>

namespace retro::views
{

namespace
{
constexpr int kFrame = 16; // milliseconds
/// Events and nodes of a run that every view shows within a frame.
constexpr std::size_t kQuick = 5000;

bool isQuick(const RunModel& model)
{
    return !model.hasRun() || model.run().eventCount() + model.graph().runNodeCount() <= kQuick;
}
} // namespace

View::View(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : QWidget(parent), m_model(model), m_cursor(cursor), m_selection(selection),
      m_emptySentence(tr("Nothing is open yet. Open a model and run it."))
{
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_stack = new QStackedLayout(this);
    m_stack->setContentsMargins(0, 0, 0, 0);
    m_empty = new EmptyState(this);
    m_stack->addWidget(m_empty);
    m_frame = new QTimer(this);
    m_frame->setSingleShot(true);
    m_frame->setInterval(kFrame);
    connect(m_frame, &QTimer::timeout, this, &View::catchUp);
    connect(&model, &RunModel::runChanged, this, &View::takeRun);
    connect(&model, &RunModel::stateChanged, this, [this] { schedule(Change::State); });
    connect(&model, &RunModel::loadStateChanged, this, &View::applyLoadState);
    connect(&selection, &Selection::changed, this, [this] { schedule(Change::Selection); });
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, [this] { schedule(Change::Theme); });
    connect(m_empty, &EmptyState::activated, this, &View::openRequested);
    connect(m_empty, &EmptyState::cancelled, this, &View::cancelRequested);
}

base::Result<void> View::exportTo(const std::filesystem::path& path)
{
    return base::usageError("this view cannot be exported", path.string());
}

base::Result<void> View::write(const std::filesystem::path& path, const std::string& table, const QSizeF& size,
                               const std::function<void(QPainter&, const Theme&)>& paint, double scale) const
{
    if (path.extension() == ".csv") {
        return base::writeFile(path, table);
    }
    const auto onGround = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        paint(painter, light);
    };
    return paintPage(path, size, onGround, title(), runTexts(m_model.run(), m_model.position()), scale, table);
}

void View::setBody(QWidget* body)
{
    m_body = body;
    m_stack->addWidget(body);
}

QWidget* View::makeScroll(QWidget* body)
{
    auto* scroll = new QScrollArea(this);
    scroll->setAccessibleName(accessibleName()); // keys scroll it
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->viewport()->setAutoFillBackground(false);
    scroll->setWidget(body);
    body->setAutoFillBackground(false);
    return scroll;
}

void View::setEmptyText(const QString& sentence, const QString& button)
{
    m_emptySentence = sentence;
    m_emptyButton = button;
}

void View::schedule(Changes changes)
{
    m_pending |= changes;
    if (isVisible() && !m_frame->isActive() && !m_model.turns().waits(*this)) {
        m_frame->start();
    }
}

void View::takeRun()
{
    m_pending |= Change::Run | Change::State;
    m_frame->stop();
    for (QMenu* menu : findChildren<QMenu*>()) {
        menu->close(); // it offers what was shown
    }
    catchUp();
}

/// At once; in a long run when the turn has time for it. When that is another run, the picture of the old one stays
/// until then: what the view holds of that one must not be painted with the new one's names. A hidden view waits until
/// it is shown.
void View::catchUp()
{
    if (!isVisible()) {
        return;
    }
    const auto work = [this] {
        if (isVisible()) {
            flush();
        }
    };
    if (isQuick(m_model)) {
        work();
        return;
    }
    const bool isOtherRun = m_pending.testFlag(Change::Run);
    const auto waiting = isOtherRun ? Turns::Waiting::Guarded : Turns::Waiting::Usable;
    if (!m_model.turns().add(*this, work, waiting) && isOtherRun && m_body != nullptr) {
        m_body->setUpdatesEnabled(false);
    }
}

void View::flush()
{
    m_frame->stop();
    m_model.turns().drop(*this);
    apply();
}

void View::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    catchUp(); // before the first paint
}

void View::apply()
{
    const Changes changes = std::exchange(m_pending, Changes());
    if ((m_model.hasRun() || !needsRun()) && changes != Changes()) {
        refresh(changes);
        emit captionChanged();
    }
    applyLoadState();
    if (m_body != nullptr && !m_body->updatesEnabled()) {
        m_body->setUpdatesEnabled(true);
    }
}

void View::applyLoadState()
{
    // Old content stays while something else is loaded, and when that fails: the last good run (what failed is among
    // the problems).
    if (!m_model.hasRun() && !needsRun() && emptyReason().isEmpty() && m_body != nullptr) {
        m_stack->setCurrentWidget(m_body);
        return;
    }
    if (m_model.hasRun()) {
        const bool isGraphOnly = m_model.run().facts.kind == "graph"; // of the run there is no more than its model
        const QString told = emptyReason();
        const QString reason = isGraphOnly && !told.isEmpty() ? tr("Nothing was run yet.") : told;
        m_empty->showEmpty(reason);
        m_stack->setCurrentWidget(reason.isEmpty() && m_body != nullptr ? m_body : m_empty);
        return;
    }
    switch (m_model.loadState()) {
    case LoadState::Loading:
        m_empty->showLoading(m_model.stage(), m_model.fraction());
        break;
    case LoadState::Error:
        m_empty->showError(m_model.errorWhat(), m_model.errorRemedy());
        break;
    case LoadState::Empty:
    case LoadState::Ready:
        m_empty->showEmpty(m_emptySentence, m_emptyButton);
        break;
    }
    m_stack->setCurrentWidget(m_empty);
}

} // namespace retro::views

#include "moc_view.cpp"
