// SPDX-License-Identifier: Apache-2.0
#include "app/gui/transportbar.h"

#include "core/trace/breakpoints.h"
#include "core/trace/describe.h"
#include "views/common/elidedlabel.h"
#include "views/common/fonts.h"
#include "views/common/icons.h"
#include "views/common/marks.h"
#include "views/common/numbertext.h"

#include <QActionGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QToolButton>

#include <array>

namespace retro::app
{

namespace
{

/// A whole run plays in about this many seconds, but never faster than one stop per frame nor slower than four a
/// second.
constexpr int kPlaySeconds = 8;
constexpr int kLeastInterval = 16;
constexpr int kMostInterval = 250;

struct GranularityName
{
    Granularity granularity;
    const char* text;
    const char* tip;
};
constexpr std::array kGranularities{
    GranularityName{Granularity::Layer, QT_TRANSLATE_NOOP("retro::app::TransportBar", "Layer"),
                    QT_TRANSLATE_NOOP("retro::app::TransportBar", "A step is a layer")},
    GranularityName{Granularity::Visit, QT_TRANSLATE_NOOP("retro::app::TransportBar", "Visit"),
                    QT_TRANSLATE_NOOP("retro::app::TransportBar", "A step is one visit of a node")},
    GranularityName{Granularity::Event, QT_TRANSLATE_NOOP("retro::app::TransportBar", "Event"),
                    QT_TRANSLATE_NOOP("retro::app::TransportBar", "A step is a single change of state")},
};

} // namespace

TransportBar::TransportBar(views::ActionRegistry& actions, views::RunModel& model, views::Cursor& cursor,
                           QWidget* parent)
    : QToolBar(tr("Transport"), parent), m_actions(actions), m_model(model), m_cursor(cursor)
{
    setObjectName(QStringLiteral("transport"));
    setMovable(false);
    m_timer = new QTimer(this);
    connect(m_timer, &QTimer::timeout, this, &TransportBar::tick);
    for (const char* id : {"file.open", "file.save"}) {
        addAction(&actions.at(QLatin1String(id)));
    }
    addSeparator();
    for (const char* id : {"go.first", "go.runback", "go.back", "go.play", "go.forward", "go.run", "go.last"}) {
        addAction(&actions.at(QLatin1String(id)));
    }
    addSeparator();
    for (const char* id : {"go.over", "go.mode"}) {
        addAction(&actions.at(QLatin1String(id)));
    }
    addSeparator();
    addGranularity();
    m_position = new QLineEdit(this);
    m_position->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_position->setFont(views::fonts::numbers());
    m_position->setFixedWidth(views::fonts::px(64));
    m_position->setAccessibleName(tr("Position; type a number or @node name"));
    m_position->setToolTip(tr("Where the run is: a number, +10, -10, 50%, or @ and a node's name"));
    m_count = new QLabel(this);
    m_count->setFont(views::fonts::numbers());
    m_now = new views::ElidedLabel(QString(), views::Role::Text, views::fonts::content(), this);
    m_now->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    m_now->setMinimumWidth(views::fonts::px(80));
    m_now->setContentsMargins(views::fonts::px(10), 0, views::fonts::px(10), 0);
    m_figures = new QLabel(this);
    m_figures->setFont(views::fonts::numbers());
    m_figures->setContentsMargins(views::fonts::px(8), 0, views::fonts::px(8), 0);
    auto* gap = new QWidget(this);
    gap->setFixedWidth(views::fonts::px(8));
    addWidget(gap);
    addWidget(m_position);
    addWidget(m_count);
    addWidget(m_now);
    addWidget(m_figures);
    connect(m_position, &QLineEdit::returnPressed, this, &TransportBar::goToTyped);
    connectActions(actions);
    connect(&model, &views::RunModel::runChanged, this, &TransportBar::takeRun);
    connect(&model, &views::RunModel::stateChanged, this, &TransportBar::showPosition);
    takeRun();
}

void TransportBar::connectActions(views::ActionRegistry& actions)
{
    const auto on = [&](const char* id, auto&& action) {
        connect(&actions.at(QLatin1String(id)), &QAction::triggered, this, std::forward<decltype(action)>(action));
    };
    on("go.first", [this] { m_cursor.moveTo(0); });
    on("go.last", [this] { m_cursor.moveTo(m_cursor.end()); });
    on("go.back", [this] { stepBy(false); });
    on("go.forward", [this] { stepBy(true); });
    on("go.play", [this] { play(m_direction == Direction::Stopped ? Direction::Forward : Direction::Stopped); });
    on("go.run", [this] { play(Direction::Forward); });
    on("go.runback", [this] { play(Direction::Back); });
    on("go.over", [this] { stepOver(); });
    on("go.mode", [this] { goToModeChange(true); });
    on("go.modeback", [this] { goToModeChange(false); });
}

void TransportBar::addGranularity()
{
    m_group = new QActionGroup(this);
    m_group->setExclusive(true);
    auto* box = new QWidget(this);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(views::fonts::px(4), 0, views::fonts::px(4), 0);
    row->setSpacing(0);
    for (const GranularityName& name : kGranularities) {
        auto* action = new QAction(tr(name.text), m_group);
        action->setCheckable(true);
        action->setToolTip(tr(name.tip));
        action->setChecked(name.granularity == m_granularity);
        action->setData(static_cast<int>(name.granularity));
        auto* button = new QToolButton(box);
        button->setDefaultAction(action);
        button->setProperty("segment", true);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        row->addWidget(button);
    }
    connect(m_group, &QActionGroup::triggered, this,
            [this](const QAction* action) { setGranularity(static_cast<Granularity>(action->data().toInt())); });
    addWidget(box);
}

void TransportBar::setGranularity(Granularity granularity)
{
    m_granularity = granularity;
    for (QAction* action : m_group->actions()) {
        action->setChecked(action->data().toInt() == static_cast<int>(granularity));
    }
    showPosition();
}

void TransportBar::takeRun()
{
    play(Direction::Stopped);
    m_stepper = m_model.hasRun() ? Stepper(m_model.run()) : Stepper();
    const bool canStep = m_model.hasRun() && m_model.run().eventCount() > 0;
    for (const char* id : {"go.first", "go.runback", "go.back", "go.play", "go.forward", "go.run", "go.last", "go.over",
                           "go.mode", "go.modeback"}) {
        m_actions.at(QLatin1String(id)).setEnabled(canStep);
    }
    m_position->setEnabled(canStep);
    showPosition();
}

void TransportBar::showPosition()
{
    if (!m_model.hasRun()) {
        m_position->clear();
        m_count->clear();
        m_now->setText({});
        m_figures->clear();
        return;
    }
    m_position->setText(QString::number(m_stepper.index(m_model.position(), m_granularity)));
    m_count->setText(
        QStringLiteral(" / %1").arg(views::countText(static_cast<std::int64_t>(m_stepper.count(m_granularity)))));
    m_now->setText(nowInWords());
    const trace::RunState& state = m_model.state();
    m_figures->setText(
        m_model.run().eventCount() == 0
            ? QString()
            : tr("frontier %1 · %2 promises")
                  .arg(views::countText(static_cast<std::int64_t>(state.frontierLanded) + state.frontierHeld),
                       views::countText(static_cast<std::int64_t>(state.promises.size()))));
}

QString TransportBar::nowInWords() const
{
    const trace::Run& run = m_model.run();
    const std::uint64_t position = m_model.position();
    if (run.eventCount() == 0) {
        return tr("Nothing was run yet");
    }
    if (position == 0) {
        return tr("Before the first step");
    }
    if (m_granularity == Granularity::Event) {
        return QString::fromStdString(trace::describe(run, position - 1));
    }
    if (position >= run.eventCount()) {
        return tr("Finished: relevance has arrived at the input");
    }
    const trace::RunState& state = m_model.state();
    if (!state.current.isValid()) {
        return tr("Relevance starts at the target");
    }
    return tr("%1 at %2").arg(views::wordOf(state.mode), m_model.label(state.current));
}

void TransportBar::goToTyped()
{
    const QString text = m_position->text().trimmed();
    const std::uint64_t here = m_stepper.index(m_model.position(), m_granularity);
    if (text.startsWith(QLatin1Char('@'))) {
        const auto node = m_model.graph().findNode(text.mid(1).toStdString());
        const auto step = node ? m_model.relevanceStep(*node) : std::nullopt;
        if (step) {
            m_cursor.moveTo(*step);
        }
        showPosition();
        return;
    }
    bool isNumber = false;
    const bool isPercent = text.endsWith(QLatin1Char('%'));
    const double value = (isPercent ? text.chopped(1) : text).toDouble(&isNumber);
    if (isNumber) {
        const bool isRelative = text.startsWith(QLatin1Char('+')) || text.startsWith(QLatin1Char('-'));
        const double count = static_cast<double>(m_stepper.count(m_granularity));
        const double target =
            isPercent ? value / 100 * count : (isRelative ? static_cast<double>(here) + value : value);
        m_cursor.moveTo(
            m_stepper.positionOf(static_cast<std::uint64_t>(std::clamp(target, 0.0, count)), m_granularity));
    }
    showPosition();
}

void TransportBar::stepBy(bool isForward)
{
    play(Direction::Stopped);
    m_cursor.moveTo(isForward ? m_stepper.next(m_cursor.position(), m_granularity)
                              : m_stepper.previous(m_cursor.position(), m_granularity));
}

void TransportBar::play(Direction direction)
{
    m_direction = direction;
    QAction& action = m_actions.at(QStringLiteral("go.play"));
    action.setIcon(
        views::icons::icon(direction == Direction::Stopped ? QStringLiteral("play") : QStringLiteral("pause")));
    if (direction == Direction::Stopped) {
        m_timer->stop();
        return;
    }
    const bool isAtEnd = direction == Direction::Forward && m_cursor.position() == m_cursor.end();
    if (isAtEnd) {
        m_cursor.moveTo(0);
    }
    const auto count = static_cast<int>(std::min<std::uint64_t>(m_stepper.count(m_granularity), 1'000'000));
    m_timer->start(std::clamp(kPlaySeconds * 1000 / std::max(1, count), kLeastInterval, kMostInterval));
}

void TransportBar::tick()
{
    // Long runs: several stops per frame, so that playing ends in about the same time.
    const std::uint64_t stops =
        std::max<std::uint64_t>(1, m_stepper.count(m_granularity) * kLeastInterval / (kPlaySeconds * 1000));
    std::uint64_t position = m_cursor.position();
    for (std::uint64_t i = 0; i < stops; ++i) {
        position = m_direction == Direction::Forward ? m_stepper.next(position, m_granularity)
                                                     : m_stepper.previous(position, m_granularity);
    }
    m_cursor.moveTo(position);
    if (position == 0 || position == m_cursor.end()) {
        play(Direction::Stopped);
    }
}

void TransportBar::goToModeChange(bool isForward)
{
    const auto& modes = m_model.series().mode;
    if (modes.empty()) {
        return;
    }
    const std::uint64_t position = m_cursor.position();
    const trace::Run& run = m_model.run();
    std::int64_t visit = position == 0 ? -1 : static_cast<std::int64_t>(run.visitOf(position - 1));
    const event::Mode here = visit < 0 ? event::Mode::None : modes[static_cast<std::size_t>(visit)];
    const std::int64_t step = isForward ? 1 : -1;
    for (visit += step; visit >= 0 && visit < static_cast<std::int64_t>(modes.size()); visit += step) {
        if (modes[static_cast<std::size_t>(visit)] != here) {
            m_cursor.moveTo(run.endOfVisit(static_cast<std::uint32_t>(visit)));
            return;
        }
    }
    m_cursor.moveTo(isForward ? m_cursor.end() : 0);
}

void TransportBar::stepOver()
{
    const trace::Run& run = m_model.run();
    std::uint64_t position = m_cursor.position();
    const base::NodeId current = m_model.state().current;
    const std::string scope = current.isValid() ? std::string(run.graph->scopeOf(current)) : std::string();
    const auto& nodes = m_model.series().node;
    do {
        position = m_stepper.next(position, Granularity::Visit);
    } while (position < m_cursor.end() && !scope.empty() &&
             run.graph->scopeOf(nodes[run.visitOf(position - 1)]) == scope);
    m_cursor.moveTo(position);
}

} // namespace retro::app
