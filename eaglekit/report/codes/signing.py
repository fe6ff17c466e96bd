"""Codes raised while what is published is signed."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR = Severity.ERROR
SIGNING = "https://github.com/sigstore/model-transparency"

CODES: tuple[Code, ...] = (
    Code(
        "signing-extra-missing",
        ERROR,
        "The package that signs is not installed",
        "A digest shows that files did not change on the way; only a signature shows whose files they are. eaglekit "
        "signs with the OpenSSF's own package, which brings cryptography and sigstore along and is therefore optional. "
        "Its release 1.1.1 imports OpenSSL and does not ask for it: the extra does.",
        "Run `pip install 'eaglekit[sign]'`, or push without --sign: SHA256SUMS is there in any case.",
        (SIGNING,),
    ),
    Code(
        "signing-failed",
        ERROR,
        "The files could not be signed",
        "A model signature needs a private key on one of the curves P-256, P-384 or P-521 in PEM form, or an identity "
        "that sigstore can vouch for, which takes the network. Nothing is published unsigned when a signature was "
        "asked for: somebody would look for it and take the release for a forgery.",
        "Give the right key file; set EAGLEKIT_SIGNING_PASSWORD if it is encrypted.",
        (SIGNING,),
    ),
    Code(
        "signing-key-exposed",
        ERROR,
        "The private key lies in the folder that is to be published",
        "Whoever has the key can sign in the publisher's name, and what was on the Hub for a minute has been copied. "
        "The allow-list would stop most names of keys; where a key lies does not depend on its name.",
        "Move the key out of the folder. If the folder was ever published or shared with it inside, make a new key.",
    ),
    Code(
        "signing-left-out",
        ERROR,
        "A signature on the Hub would not hold for what is pushed",
        "An earlier push was signed, and this one is not. Nothing on the Hub is ever deleted, so that the old "
        "signature would lie beside other files than it was made of, and everybody who checks it would take an honest "
        "release for a forgery.",
        "Sign this push, too (--sign KEY --overwrite), or delete model.sig on the Hub.",
        (SIGNING,),
    ),
)
