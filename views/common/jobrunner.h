// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

namespace retro::views
{

/// Runs work of one kind off the GUI thread. The newest job wins: starting one stops the one before, whose result is
/// thrown away. Lives on the GUI thread; when it is destroyed, a job in flight is told to stop and its result is
/// dropped without waiting for it. A job that throws delivers nothing; BackgroundFailures tells of it.
class JobRunner final : public QObject
{
    Q_OBJECT

public:
    /// What a job hands back: called on the GUI thread, unless a newer job was started or the runner is gone.
    using Delivery = std::function<void()>;
    /// Called on a thread of the pool. Must touch nothing but what it owns or shares as const; should look at the
    /// token.
    using Work = std::function<Delivery(const std::stop_token&)>;

    explicit JobRunner(QObject* parent = nullptr);
    ~JobRunner() override;

    void start(Work work);
    /// Stops the job in flight, if any; nothing will be delivered.
    void cancel();
    [[nodiscard]] bool isRunning() const { return m_isRunning; }

signals:
    /// A delivery was made.
    void delivered();

private:
    struct Channel;
    void finish(std::uint64_t generation, const Delivery& delivery);

    std::shared_ptr<Channel> m_channel;
    std::stop_source m_stop;
    std::uint64_t m_generation = 0;
    bool m_isRunning = false;
};

} // namespace retro::views
