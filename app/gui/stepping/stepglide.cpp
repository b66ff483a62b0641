// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/stepglide.h"

#include "core/trace/motion.h"
#include "views/common/paint/motion.h"

#include <QTimer>

namespace retro::app
{

namespace
{

constexpr int kGlideFrame = 16;    // milliseconds
constexpr double kGlideTime = 320; // milliseconds for a step
constexpr double kOneVisit = 1;    // visits per second: a step shows everything

} // namespace

StepGlide::StepGlide(views::RunModel& model, views::Cursor& cursor, QObject* parent)
    : QObject(parent), m_model(model), m_cursor(cursor), m_timer(new QTimer(this))
{
    m_timer->setInterval(kGlideFrame);
    connect(m_timer, &QTimer::timeout, this, &StepGlide::advance);
    connect(&cursor, &views::Cursor::glided, this, [this](double moment) {
        if (m_isRunning && moment != m_set) {
            end(); // somebody else moves
        }
    });
}

void StepGlide::goTo(std::uint64_t position)
{
    finish();
    if (!views::isMotionSeen() || position == m_cursor.position() || !m_model.hasRun()) {
        m_cursor.moveTo(position);
        return;
    }
    m_from = m_cursor.position();
    m_to = position;
    m_isRunning = true;
    m_cursor.setSpeed(kOneVisit);
    m_clock.start();
    m_timer->start();
}

double StepGlide::momentAt(double share) const
{
    return m_model.derived<trace::Motion>()->pace().between(m_from, m_to, share);
}

void StepGlide::advance()
{
    const double share = static_cast<double>(m_clock.elapsed()) / kGlideTime;
    if (share >= 1 || !m_model.hasRun()) {
        finish();
        return;
    }
    m_set = momentAt(share);
    m_cursor.glideTo(m_set);
}

void StepGlide::finish()
{
    if (m_isRunning) {
        end();
        m_cursor.moveTo(m_to);
    }
}

void StepGlide::end()
{
    m_isRunning = false;
    m_timer->stop();
    m_cursor.setSpeed(0);
}

} // namespace retro::app

#include "moc_stepglide.cpp"
