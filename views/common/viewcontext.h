// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "core/trace/timeline.h"
#include "views/common/cursor.h"
#include "views/common/run/runderived.h"
#include "views/common/selection.h"

#include <QImage>
#include <QObject>
#include <QRect>
#include <QString>
#include <QStringList>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{

class RunIndex;
class Turns;

/// A run with its own timeline, made on the engine thread and handed to the window.
struct RunHandle
{
    std::shared_ptr<const trace::Run> run;
    std::shared_ptr<trace::Timeline> timeline;
    /// What follows from the run; without it the window makes it when it is needed.
    std::shared_ptr<RunDerived> derived{};
};

/// How the input is read as a picture, taken from the model card by the window. A view that needs the picture gets it
/// from here and never from a file.
struct InputInfo
{
    bool isPicture = false; ///< the input is an image
    QString fileName;       ///< where the picture came from; may be empty
    QString layout = QStringLiteral("NCHW");
    QString channels = QStringLiteral("RGB"); ///< RGB, BGR or GRAY
    double scaleLow = 0;                      ///< value of a black pixel before mean and deviation
    double scaleHigh = 1;                     ///< value of a white pixel
    std::vector<double> mean;                 ///< per channel; may be empty
    std::vector<double> deviation;            ///< per channel; may be empty
    QStringList words;                        ///< of a text, one per token; else empty
    QStringList labels;                       ///< class names; may be empty
    QString scores;                           ///< what the card says of the outputs' meaning; may be empty
    QString trueClass;                        ///< may be empty
    QString tagName;                          ///< what the marked box shows; may be empty
    std::optional<QRect> tagBox;              ///< in model pixels
};

/// What the window can show at present.
enum class LoadState { Empty, Loading, Ready, Error };

/// The current run on the GUI thread: owns its timeline, follows the cursor, answers the questions that every view has.
/// Emits runChanged() after another run came, stateChanged() after the state has followed the cursor (also after
/// runChanged()). Views listen to this and not to Cursor::moved(), so that they never see an old state.
class RunModel final : public QObject
{
    Q_OBJECT

public:
    explicit RunModel(Cursor& cursor, QObject* parent = nullptr);

    /// Shows a run; the cursor goes to its end when `atEnd`, else to its start. An empty handle clears.
    void setRun(RunHandle handle, InputInfo input = {}, bool atEnd = true);
    void clear() { setRun({}); }
    /// A job is under way: its stage in words and how much is done (0…1, negative = unknown). Old content stays.
    void setLoading(const QString& stage, double fraction);
    /// Loading ended without a run: what happened, and what to do.
    void setError(const QString& what, const QString& remedy);
    /// Loading was stopped: back to Ready or Empty.
    void endLoading();

    [[nodiscard]] LoadState loadState() const { return m_loadState; }
    [[nodiscard]] const QString& stage() const { return m_stage; }
    [[nodiscard]] double fraction() const { return m_fraction; }
    [[nodiscard]] const QString& errorWhat() const { return m_stage; }
    [[nodiscard]] const QString& errorRemedy() const { return m_remedy; }

    /// Turns of the event loop in which views catch up with another run.
    [[nodiscard]] Turns& turns() const { return *m_turns; }

    [[nodiscard]] bool hasRun() const { return m_handle.run != nullptr; }
    [[nodiscard]] const InputInfo& input() const { return m_input; }

    // The rest needs hasRun().
    [[nodiscard]] const trace::Run& run() const { return *m_handle.run; }
    [[nodiscard]] const std::shared_ptr<const trace::Run>& sharedRun() const { return m_handle.run; }
    /// The same run with a timeline of its own, for who shows it at another position.
    [[nodiscard]] RunHandle handleOfItsOwn() const;
    [[nodiscard]] const graph::Graph& graph() const { return *m_handle.run->graph; }
    [[nodiscard]] const trace::Timeline& timeline() const { return *m_handle.timeline; }
    [[nodiscard]] const trace::RunState& state() const { return m_handle.timeline->state(); }
    [[nodiscard]] const trace::VisitSeries& series() const { return m_handle.timeline->series(); }
    [[nodiscard]] std::uint64_t position() const { return m_handle.timeline->position(); }
    /// What follows from the run (see RunDerived).
    template <class T>
    [[nodiscard]] std::shared_ptr<const T> derived() const
    {
        return m_handle.derived->get<T>();
    }

    /// Name of a node or input, as the file says.
    [[nodiscard]] QString label(base::NodeId node) const;
    /// Name for lists without room, as graph::Graph::shortNameOf.
    [[nodiscard]] QString placeLabel(base::NodeId node) const { return placeLabel(graph(), node); }
    [[nodiscard]] static QString placeLabel(const graph::Graph& graph, base::NodeId node);
    [[nodiscard]] QString label(base::ValueId value) const;
    /// The mode of a visit; of one without a mode what a plan is at: "planning" or "by the plan".
    [[nodiscard]] QString modeWord(std::uint32_t visit) const;
    /// Operator type, or "Input".
    [[nodiscard]] QString op(base::NodeId node) const;
    /// Concrete shape of a value ("1 × 3 × 96 × 96"); empty when unknown.
    [[nodiscard]] QString shapeText(base::ValueId value) const;
    /// The same without a leading batch of 1 and without spaces ("3×96×96"), for boxes.
    [[nodiscard]] QString shortShapeText(base::ValueId value) const;
    /// Class name of an output index, or "class 3"; where the target has more than one row of classes per sample, all
    /// that tells the element: "token 11, class 504".
    [[nodiscard]] QString className(std::int64_t index) const;

    /// Relevance of a value at the cursor: its handle once known in full, else invalid.
    [[nodiscard]] base::HandleId relevanceHandle(base::ValueId value) const;
    /// The tensor behind a handle; null when invalid, dropped or not recorded.
    [[nodiscard]] const tensor::Tensor* tensor(base::HandleId handle) const;
    /// Relevance of a value as the composite means it (trace::meantRelevance), of the tensor behind a handle, by itself
    /// of relevanceHandle(); null as tensor(). Good while the run is shown.
    [[nodiscard]] const tensor::Tensor* relevance(base::ValueId value, base::HandleId handle) const;
    [[nodiscard]] const tensor::Tensor* relevance(base::ValueId value) const
    {
        return relevance(value, relevanceHandle(value));
    }
    /// The forward value; null when it was not kept.
    [[nodiscard]] const tensor::Tensor* forwardValue(base::ValueId value) const;
    /// The value that a selection is about: itself, the first output of the node, the first output of a promise's
    /// start; invalid for none.
    [[nodiscard]] base::ValueId valueOf(const SelectedThing& thing) const;
    /// The node that a selection is about; invalid for none.
    [[nodiscard]] base::NodeId nodeOf(const SelectedThing& thing) const;
    /// Position at which the relevance of a node's output was known in full: number of events up to and with that
    /// event; none when it never was.
    [[nodiscard]] std::optional<std::uint64_t> relevanceStep(base::NodeId node, std::uint32_t output) const;
    /// The same of the first output that is not left out.
    [[nodiscard]] std::optional<std::uint64_t> relevanceStep(base::NodeId node) const;

    /// The value whose relevance was known last at the cursor; invalid before the first.
    [[nodiscard]] base::ValueId lastArrived() const;

signals:
    void runChanged();
    void stateChanged();
    void loadStateChanged();

private:
    void follow(std::uint64_t position);

    Cursor& m_cursor;
    RunHandle m_handle;
    InputInfo m_input;
    LoadState m_loadState = LoadState::Empty;
    QString m_stage;
    QString m_remedy;
    double m_fraction = -1;
    std::shared_ptr<const RunIndex> m_index;
    mutable std::map<base::HandleId, tensor::Tensor> m_meant; ///< relevance that the run does not hold as it is meant
    Turns* m_turns = nullptr;
};

} // namespace retro::views
