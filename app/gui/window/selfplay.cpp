// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/selfplay.h"

#include "core/trace/motion.h"
#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

#include <QApplication>
#include <QEvent>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace retro::app
{

namespace
{
constexpr int kPlayFrame = 16; // milliseconds
constexpr double kSecondOfPlay = 1000;
} // namespace

SelfPlayScore::SelfPlayScore(const trace::Run& run, const trace::Pace& pace)
{
    if (run.visitCount() == 0) {
        return;
    }
    std::vector<Part> slow;
    const auto firstOf = [&](event::Mode mode) {
        const auto found = std::ranges::find_if(
            run.events, [mode](const event::Event& e) { return e.kind == event::EventKind::Visit && e.mode == mode; });
        if (found != run.events.end()) {
            const std::uint32_t visit = found->visit;
            slow.push_back({0, kCaption, pace.visitsAt(static_cast<double>(run.visitStart[visit])),
                            pace.visitsAt(static_cast<double>(run.endOfVisit(visit))), mode,
                            base::NodeId(found->node)});
        }
    };
    firstOf(event::Mode::Search);
    firstOf(event::Mode::Fulfilment);
    std::ranges::sort(slow, {}, &Part::fromVisits);
    double others = pace.length();
    for (const Part& part : slow) {
        others -= part.toVisits - part.fromVisits;
    }
    double visits = 0;
    const auto add = [&](Part part) {
        if (part.toVisits > part.fromVisits) {
            part.start = length();
            m_parts.push_back(part);
        }
        visits = part.toVisits;
    };
    const auto addOthers = [&](double to) {
        add({0, others > 0 ? kLength * (to - visits) / others : 0, visits, to, event::Mode::None, base::NodeId()});
    };
    for (const Part& part : slow) {
        addOthers(part.fromVisits);
        add(part);
    }
    addOthers(pace.length());
}

const SelfPlayScore::Part& SelfPlayScore::partAt(double time) const
{
    const auto after = std::ranges::find_if(m_parts, [time](const Part& part) { return part.start > time; });
    return after == m_parts.begin() ? m_parts.front() : *(after - 1);
}

double SelfPlayScore::visitsAt(double time) const
{
    const Part& part = partAt(time);
    const double share = part.length > 0 ? std::clamp((time - part.start) / part.length, 0.0, 1.0) : 1;
    return part.fromVisits + share * (part.toVisits - part.fromVisits);
}

SelfPlay::SelfPlay(views::RunModel& model, views::Cursor& cursor, QObject* parent)
    : QObject(parent), m_model(model), m_cursor(cursor), m_timer(new QTimer(this))
{
    m_timer->setInterval(kPlayFrame);
    connect(m_timer, &QTimer::timeout, this, &SelfPlay::tick);
    connect(&cursor, &views::Cursor::glided, this, [this](double moment) {
        if (m_isRunning && moment != m_set) {
            end();
        }
    });
    connect(&model, &views::RunModel::runChanged, this, &SelfPlay::end);
}

void SelfPlay::begin(bool isSeen)
{
    end();
    if (!isSeen || !m_model.hasRun() || m_model.run().visitCount() == 0) {
        return;
    }
    m_score = SelfPlayScore(m_model.run(), m_model.derived<trace::Motion>()->pace());
    m_isRunning = true;
    qApp->installEventFilter(this);
    m_clock.start();
    m_skipped = 0;
    if (!m_isDriven) {
        m_timer->start();
    }
    tick();
}

void SelfPlay::stop(bool isDone)
{
    if (!m_isRunning) {
        return;
    }
    m_isRunning = false;
    m_timer->stop();
    qApp->removeEventFilter(this);
    m_cursor.setSpeed(0);
    say({});
    emit ended(isDone);
}

void SelfPlay::skipTo(double time)
{
    if (m_isRunning) {
        m_skipped = time - elapsed();
        tick();
    }
}

void SelfPlay::say(const QString& caption)
{
    if (std::exchange(m_caption, caption) != caption) {
        emit captionChanged(caption);
    }
}

QString SelfPlay::captionAt(double time) const
{
    const SelfPlayScore::Part& part = m_score.partAt(time);
    const QString node = part.node.isValid() ? m_model.placeLabel(part.node) : QString();
    switch (part.mode) {
    case event::Mode::Search:
        return tr("A rule needs a value that nobody kept. A search asks %1 for it: the dashed line leads from the "
                  "promise to where it looks.")
            .arg(node);
    case event::Mode::Fulfilment:
        return tr("What %1 waited for is there. The promise is fulfilled: its line turns blue, and relevance goes on.")
            .arg(node);
    default:
        break;
    }
    return time < SelfPlayScore::kCaption ? tr("Relevance starts at the score and runs back to the input. A pulse is "
                                               "as thick as what it carries. Any key stops this.")
                                          : QString();
}

void SelfPlay::tick()
{
    if (!m_model.hasRun()) {
        end();
        return;
    }
    const double time = elapsed() + m_skipped;
    const trace::Pace& pace = m_model.derived<trace::Motion>()->pace();
    if (time >= m_score.length()) {
        m_set = pace.end();
        m_cursor.glideTo(m_set);
        stop(true);
        return;
    }
    const SelfPlayScore::Part& part = m_score.partAt(time);
    m_cursor.setSpeed((part.toVisits - part.fromVisits) * kSecondOfPlay / std::max(1.0, part.length));
    m_set = pace.momentAt(m_score.visitsAt(time));
    m_cursor.glideTo(m_set);
    say(captionAt(time));
}

bool SelfPlay::eventFilter(QObject* watched, QEvent* event)
{
    const QEvent::Type type = event->type();
    if (type == QEvent::KeyPress || type == QEvent::MouseButtonPress || type == QEvent::Wheel) {
        end();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace retro::app

#include "moc_selfplay.cpp"
