"""Parts as parameters: the fields of a set, a loss or a method are parameters of the estimator that holds it."""

from typing import Any

from sklearn.base import BaseEstimator

from frankwolfe.arguments.names import advice, nearest, teaching
from frankwolfe.compile.part import is_part


def _fields(name: str, part: Any) -> dict[str, Any]:
    """Return the fields of a part by their nested names, those of parts within it included."""
    found = {}
    for field, value in part._asdict().items():
        found[f"{name}__{field}"] = value
        if is_part(value):
            found.update(_fields(f"{name}__{field}", value))
    return found


def _changed(name: str, part: Any, path: str, value: Any) -> Any:
    """Return a part with one field, at the end of ``path``, changed; made anew, so that the value is checked."""
    field, _, rest = path.partition("__")
    if not is_part(part):
        raise ValueError(f"{name}__{path}: {name} is {part!r}, which has no parameters; set {name} itself")
    if field not in part._fields:
        kind = type(part).__name__
        raise ValueError(
            f"{name}__{field}: {kind} has no field {field!r}{nearest(field, part._fields)} "
            f"Its fields are {', '.join(map(repr, part._fields))}."
        )
    if rest:
        value = _changed(f"{name}__{field}", getattr(part, field), rest, value)
    return type(part)(**{**part._asdict(), field: value})


class PartParameters(BaseEstimator):
    """An estimator whose parameters may be parts: ``constraint__radius`` is the radius of its set."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:  # every constructor answers an unknown parameter with the name that is meant
            cls.__init__ = teaching(cls.__init__)  # type: ignore[method-assign]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also the fields of parts, such as ``constraint__radius``.

        Parameters
        ----------
        deep : bool
            Whether to include them.

        Returns
        -------
        dict
        """
        found = super().get_params(deep=deep)
        if deep:
            for name, value in list(found.items()):
                if is_part(value):
                    found.update(_fields(name, value))
        return found

    def set_params(self, **params: Any) -> "PartParameters":
        """Set parameters; ``constraint__radius=2.0`` replaces the set by one of that radius.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        own = self.get_params(deep=False)
        for name in params:
            if name.partition("__")[0] not in own:
                invalid = f"Invalid parameter {name!r} for estimator {type(self).__name__}"  # scikit-learn's words
                raise ValueError(f"{invalid}{advice(name, own)}")
        nested = {name: params[name] for name in params if "__" in name and name.partition("__")[0] in own}
        super().set_params(**{name: value for name, value in params.items() if name not in nested})
        for path, value in nested.items():
            name, _, rest = path.partition("__")
            setattr(self, name, _changed(name, getattr(self, name), rest, value))
        return self
