// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/transportbar.h"

#include "app/gui/facts/runfigures.h"
#include "app/gui/stepping/nowline.h"
#include "app/gui/stepping/positionbox.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/widgets/boxes.h"
#include "views/log/eventwords.h"

#include <QActionGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include <array>

namespace retro::app
{

using views::fonts::px;

namespace
{

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

constexpr int kTargetLetters = 11; ///< of the box of what to run to
constexpr int kMostSteps = 3;      ///< ways to make room
constexpr double kSentence = 236;  ///< design pixels: mode, sentence and the most telling figure

QString capitalised(QString text)
{
    if (!text.isEmpty()) {
        text[0] = text[0].toUpper();
    }
    return text;
}

// Which figure leaves a narrow bar first. The timeline shows the frontier, the event log the event; that nothing is
// lost is what people look for.
enum FigureRank { FrontierRank, EventRank, SumRank, BooksRank };

QString counted(std::uint64_t n) { return views::countText(static_cast<std::int64_t>(n)); }

} // namespace

TransportBar::TransportBar(const NavigatorContext& context, QWidget* parent)
    : QToolBar(tr("Transport"), parent), m_context(context), m_navigator(new Navigator(context, this)),
      m_player(new Player(context, *m_navigator, this)), m_sums(std::make_shared<const RunFigures>())
{
    setObjectName(QStringLiteral("transport"));
    setMovable(false);
    for (const char* id : {"file.open", "file.save"}) {
        addToolAction(id);
    }
    addSeparator();
    for (const char* id : {"go.first", "go.runback", "go.back", "go.play", "go.forward", "go.run", "go.last"}) {
        addToolAction(id);
    }
    m_details.append(addSeparator());
    addOverAndOut();
    m_details.append(addSeparator());
    addGranularity();
    addRunTarget();
    addPosition();
    addSpeed();
    connect(m_navigator, &Navigator::runTaken, this, &TransportBar::showRun);
    connect(m_navigator, &Navigator::granularityChanged, this, &TransportBar::showGranularity);
    connect(&context.model, &views::RunModel::stateChanged, this, &TransportBar::showPosition);
    showGranularity();
    showRun();
}

TransportBar::~TransportBar() = default;

/// Buttons of their own, so that Explain hides them and leaves the actions to menus and keys.
void TransportBar::addOverAndOut()
{
    auto* box = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(box, {}, 0);
    for (const char* id : {"go.over", "go.out"}) {
        auto* button = new QToolButton(box);
        button->setDefaultAction(&m_context.actions.at(QLatin1String(id)));
        button->setAutoRaise(true);
        button->setIconSize(iconSize());
        row->addWidget(button);
    }
    addDetail(box);
}

void TransportBar::addToolAction(const char* id) { addAction(&m_context.actions.at(QLatin1String(id))); }

/// Buttons of their own too: the actions stay in menus and keys.
void TransportBar::addExplainTool(const char* id)
{
    auto* button = new QToolButton(this);
    button->setDefaultAction(&m_context.actions.at(QLatin1String(id)));
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_plain.append(addWidget(button));
    button->setAutoRaise(false); // with a frame, as all that has words
    m_plain.back()->setVisible(!m_isDetailed);
}

QAction* TransportBar::addDetail(QWidget* widget)
{
    m_details.append(addWidget(widget));
    return m_details.back();
}

void TransportBar::addGranularity()
{
    m_group = new QActionGroup(this);
    m_group->setExclusive(true);
    auto* box = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(box, {px(4), 0, px(4), 0}, 0);
    for (const GranularityName& name : kGranularities) {
        auto* action = new QAction(tr(name.text), m_group);
        action->setCheckable(true);
        action->setToolTip(tr(name.tip));
        action->setData(static_cast<int>(name.granularity));
        auto* button = new QToolButton(box);
        button->setDefaultAction(action);
        button->setProperty("segment", true);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        row->addWidget(button);
    }
    connect(m_group, &QActionGroup::triggered, this, [this](const QAction* action) {
        m_navigator->setGranularity(static_cast<Granularity>(action->data().toInt()));
    });
    m_granularityPlace = addWidget(box);
}

void TransportBar::addRunTarget()
{
    auto* box = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(box, {px(8), 0, px(4), 0}, px(6));
    m_target = new QComboBox(box);
    for (std::size_t i = 0; i < kRunTargets; ++i) {
        m_target->addItem(nameOf(static_cast<RunTarget>(i)));
    }
    m_target->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_target->setMinimumContentsLength(kTargetLetters);
    m_target->setAccessibleName(tr("What to run to"));
    m_target->setToolTip(tr("Where F5 and Shift+F5 stop"));
    auto* label = new QLabel(tr("Run to"), box);
    label->setBuddy(m_target);
    m_captions.append(label);
    row->addWidget(label);
    row->addWidget(m_target);
    connect(m_target, &QComboBox::activated, this,
            [this](int index) { m_navigator->setRunTarget(static_cast<RunTarget>(index)); });
    connect(m_navigator, &Navigator::runTargetChanged, this,
            [this] { m_target->setCurrentIndex(static_cast<int>(m_navigator->runTarget())); });
    addDetail(box);
}

void TransportBar::addPosition()
{
    auto* box =
        new PositionBox(tr("Position; type a number or @node name"),
                        tr("Where the run is: a number, +10, -10, 50%, or @ and a node's name or a part of it"), this);
    m_position = &box->field();
    m_count = &box->count();
    addWidget(box);
    m_now = new NowLine(this);
    addWidget(m_now);
    connect(m_position, &QLineEdit::returnPressed, this, &TransportBar::goToTyped);
}

void TransportBar::addSpeed()
{
    auto* box = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(box, {px(12), 0, px(4), 0}, px(6));
    m_speed = new QComboBox(box);
    for (const double speed : Player::speeds()) {
        m_speed->addItem(tr("%1 / s").arg(speed < 1 ? views::valueText(speed, 2)
                                                    : views::countText(static_cast<std::int64_t>(speed))));
    }
    m_speed->setCurrentIndex(m_player->speed());
    m_speed->setAccessibleName(tr("Speed of playing, steps per second"));
    m_speed->setToolTip(tr("Steps per second while playing ([ slower, ] faster)"));
    auto* label = new QLabel(tr("Speed"), box);
    label->setBuddy(m_speed);
    m_captions.append(label);
    row->addWidget(label);
    row->addWidget(m_speed);
    connect(m_speed, &QComboBox::activated, m_player, &Player::setSpeed);
    connect(m_player, &Player::speedChanged, this, [this] { m_speed->setCurrentIndex(m_player->speed()); });
    m_speedPlace = addDetail(box);
}

void TransportBar::setDetailed(bool isDetailed)
{
    m_isDetailed = isDetailed;
    for (QAction* action : m_details) {
        action->setVisible(isDetailed);
    }
    for (QAction* action : m_plain) {
        action->setVisible(!isDetailed);
    }
    makeRoom();
    showPosition();
}

void TransportBar::resizeEvent(QResizeEvent* event)
{
    QToolBar::resizeEvent(event);
    makeRoom();
}

/// In a narrow bar the sentence about what happens now keeps its room; what has keys and menus gives way.
void TransportBar::makeRoom()
{
    for (int steps = 0; steps <= kMostSteps; ++steps) {
        giveWay(steps);
        if (widthBeside(m_now, *this) + px(kSentence) <= width()) {
            return;
        }
    }
}

/// Step by step: the words before boxes (in Explain the choice of what a step is), half of the box of what to run to,
/// the box of the speed.
void TransportBar::giveWay(int steps)
{
    for (QLabel* caption : m_captions) {
        caption->setVisible(steps < 1);
    }
    m_target->setMinimumContentsLength(steps < 2 ? kTargetLetters : kTargetLetters / 2);
    m_speedPlace->setVisible(m_isDetailed && steps < kMostSteps);
    m_granularityPlace->setVisible(m_isDetailed || steps < 1);
}

void TransportBar::showGranularity()
{
    for (QAction* action : m_group->actions()) {
        action->setChecked(action->data().toInt() == static_cast<int>(m_navigator->granularity()));
    }
    showPosition();
}

void TransportBar::showRun()
{
    const bool canStep = m_context.model.hasRun() && m_context.model.run().eventCount() > 0;
    m_sums = canStep ? m_context.model.derived<RunFigures>() : std::make_shared<const RunFigures>();
    m_position->setEnabled(canStep);
    m_target->setEnabled(canStep);
    showPosition();
    makeRoom();
}

void TransportBar::showPosition()
{
    if (!m_context.model.hasRun()) {
        m_position->clear();
        m_count->clear();
        m_now->setMode(event::Mode::None);
        m_now->setWords({});
        m_now->setFigures({});
        return;
    }
    const Stepper& stepper = m_navigator->stepper();
    const Granularity granularity = m_navigator->granularity();
    m_position->setText(QString::number(stepper.index(m_context.model.position(), granularity)));
    m_count->setText(QStringLiteral(" / %1").arg(counted(stepper.count(granularity))));
    m_now->setWords(nowInWords());
    const trace::RunState& state = m_context.model.state();
    const bool isInside = state.current.isValid() && !state.isFinished;
    m_now->setMode(m_isDetailed && isInside ? state.mode : event::Mode::None);
    m_now->setFigures(figures());
}

std::vector<NowFigure> TransportBar::figures() const
{
    const trace::Run& run = m_context.model.run();
    if (!m_isDetailed || run.eventCount() == 0) {
        return {};
    }
    const trace::RunState& state = m_context.model.state();
    std::vector<NowFigure> figures{
        {tr("event %1 / %2").arg(counted(m_context.model.position()), counted(run.eventCount())), EventRank},
        {tr("frontier %1").arg(counted(std::uint64_t{state.frontierLanded} + state.frontierHeld)), FrontierRank}};
    const RelevanceNow now = m_sums->at(state);
    if (now.isAudited) {
        figures.push_back({tr("ΣR %1").arg(views::valueText(now.sum)), SumRank});
        figures.push_back({now.isExplained ? tr("✓ all accounted for")
                                           : tr("✕ %1 unexplained").arg(views::valueText(now.unexplained, 2)),
                           BooksRank});
    }
    return figures;
}

QString TransportBar::nowInWords() const
{
    const trace::Run& run = m_context.model.run();
    const std::uint64_t position = m_context.model.position();
    if (run.eventCount() == 0) {
        return tr("Nothing was run yet");
    }
    if (position == 0) {
        return tr("Before the first step");
    }
    if (m_navigator->granularity() == Granularity::Event) {
        return views::eventSentence(run, position - 1);
    }
    if (position >= run.eventCount()) {
        return m_isDetailed ? tr("Finished at the input") : tr("Finished: relevance has arrived at the input");
    }
    const trace::RunState& state = m_context.model.state();
    if (!state.current.isValid()) {
        return tr("Relevance starts at the target");
    }
    const QString place = m_context.model.placeLabel(state.current);
    return m_isDetailed || state.mode == event::Mode::None
               ? tr("%1 at %2").arg(capitalised(m_context.model.modeWord(run.visitOf(position - 1))), place)
               : tr("Relevance has come to %1").arg(place);
}

void TransportBar::goToTyped()
{
    static_cast<void>(m_navigator->goToText(m_position->text())); // which says what is unclear
    showPosition();
}

} // namespace retro::app

#include "moc_transportbar.cpp"
