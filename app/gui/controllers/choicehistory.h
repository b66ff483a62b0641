// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

#include <any>
#include <functional>
#include <vector>

class QTimer;

namespace retro::app
{

/// What can be undone: choices of several kinds in the order in which they were made. A kind says how its state is read
/// and put back; note() says that it may have changed. Changes of one kind that follow each other without a pause (a
/// slider that is dragged, a word that is typed) are one. GUI thread.
class ChoiceHistory final : public QObject
{
    Q_OBJECT

public:
    /// More changes push the oldest out.
    static constexpr std::size_t kMost = 200;

    explicit ChoiceHistory(QObject* parent = nullptr);

    /// Adds a kind of choice; its number. `name` says in the menu what is undone: "rules". State must be comparable.
    template <class State>
    std::size_t add(const QString& name, std::function<State()> read, std::function<void(const State&)> write)
    {
        Kind kind;
        kind.name = name;
        kind.read = [read = std::move(read)] { return std::any(read()); };
        kind.write = [write = std::move(write)](const std::any& state) { write(std::any_cast<const State&>(state)); };
        kind.isSame = [](const std::any& a, const std::any& b) {
            return std::any_cast<const State&>(a) == std::any_cast<const State&>(b);
        };
        return addKind(std::move(kind));
    }
    /// A choice of that kind may have been made.
    void note(std::size_t kind);
    /// The same, and it is a step of its own: what was noted before is taken first.
    void noteStep(std::size_t kind);
    /// What was noted is a change now, without waiting for a pause.
    void settle() { take(); }
    /// The state was said again in other words, not chosen: nothing can be undone of that.
    void refresh(std::size_t kind);
    /// Something else than a choice changed the state, as another run empties what was kept of the one before.
    [[nodiscard]] bool differs(std::size_t kind) const;
    /// What holds now is where it begins: nothing of that kind can be undone.
    void forget(std::size_t kind);
    void forgetAll();

    [[nodiscard]] bool canUndo() const { return !m_past.empty() || isPending(); }
    [[nodiscard]] bool canRedo() const { return !m_future.empty(); }
    /// The kind that the next undo (redo) changes; empty = none.
    [[nodiscard]] QString undoName() const;
    [[nodiscard]] QString redoName() const { return m_future.empty() ? QString() : m_kinds[m_future.back().kind].name; }
    void undo();
    void redo();

signals:
    /// Another change can be undone or redone.
    void changed();

private:
    struct Kind
    {
        QString name;
        std::function<std::any()> read;
        std::function<void(const std::any&)> write;
        std::function<bool(const std::any&, const std::any&)> isSame;
        std::any now;
    };
    struct Change
    {
        std::size_t kind;
        std::any before;
        std::any after;
    };

    std::size_t addKind(Kind kind);
    [[nodiscard]] bool isPending() const;
    void take();
    void move(std::vector<Change>& from, std::vector<Change>& to, bool isBack);

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::vector<Kind> m_kinds;
    std::vector<Change> m_past;
    std::vector<Change> m_future;
    QTimer* m_pause = nullptr;
    std::size_t m_pending = kNone; ///< kind that was noted and not looked at yet
    bool m_isMoving = false;       ///< something is being put back
};

} // namespace retro::app
