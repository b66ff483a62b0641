// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QObject>
#include <QString>

#include "views/graph/graphscene.h"

#include <memory>

class QProcess;
class QTimer;

namespace retro::views
{

/// Bounds of one refinement.
struct RefineLimits
{
    int slowMilliseconds = 5'000;
    int killMilliseconds = 15'000;
    layout::Index mostBoxes = 1500;
    qint64 mostBytes = 16 << 20; ///< of the answer
};

/// Lays a drawing out with Graphviz, in a program of its own that can be killed and whose memory is bounded; the
/// drawing that is there stays until the better one comes. One at a time: starting stops the one before. GUI thread,
/// never waits.
class GraphRefiner final : public QObject
{
    Q_OBJECT

public:
    /// `program`: file name of retrograde-layout; empty = beside this program, else on the path.
    explicit GraphRefiner(QObject* parent = nullptr, QString program = {}, RefineLimits limits = {});
    ~GraphRefiner() override;

    void start(std::shared_ptr<const GraphScene> scene);
    /// Better layouts are kept in that folder and not made again; null = nowhere.
    void setFolder(std::shared_ptr<const layout::LayoutFolder> folder) { m_folder = std::move(folder); }
    /// Kills the program; nothing is emitted after this.
    void stop();
    [[nodiscard]] bool isRunning() const { return m_process != nullptr; }
    [[nodiscard]] const RefineLimits& limits() const { return m_limits; }

signals:
    /// It takes longer than most people like to wait.
    void slow();
    /// `from` again, in a better layout.
    void refined(const std::shared_ptr<const retro::views::GraphScene>& from,
                 const std::shared_ptr<const retro::views::GraphScene>& to);
    /// One line: why there is no better layout.
    void failed(const QString& reason);

private:
    void deliver(layout::LayeredLayout layout);
    void begin(const QByteArray& question);
    void readAnswer();
    void finish(int code, bool hasCrashed);
    void fail(const QString& reason);
    void release();

    QString m_program;
    RefineLimits m_limits;
    QProcess* m_process = nullptr; // null while nothing runs
    QTimer* m_slow = nullptr;
    QTimer* m_kill = nullptr;
    QByteArray m_answer;
    std::shared_ptr<const GraphScene> m_scene;
    std::shared_ptr<const layout::LayoutFolder> m_folder;
    base::Hash128 m_key; // of what is asked for
};

} // namespace retro::views
